"""Five mistakes of a loader that raise no error, and the shipped model loaded with each of them."""

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig, pretrained
from scratchformer.tokenizers import CharTokenizer

UNSEEN = """Well, come, my Kate; we will unto your father's
Even in these honest mean habiliments:
Our purses shall be proud, our garments poor;
For 'tis the mind that makes the body rich;
And as the sun breaks through the darkest clouds,
"""  # from the end of Tiny Shakespeare, which the shipped model has not read
PROMPT = "PETRUCHIO:\nCome, "
Weights = dict[str, Tensor]


def other_gelu(net: GPT, weights: Weights) -> tuple[GPT, Weights]:
    """The exact GELU, where GPT-2 has the approximation by tanh."""
    other = GPT(net.config)
    for name, module in other.named_modules():
        if name.endswith(".mlp"):
            module.activation = nn.GELU()
    return other, weights


def positions_from_1(net: GPT, weights: Weights) -> tuple[GPT, Weights]:
    """Each position gets the vector of the next one."""
    moved = weights["wpe.weight"].roll(-1, dims=0)
    return GPT(net.config), weights | {"wpe.weight": moved}


def lost_biases(net: GPT, weights: Weights) -> tuple[GPT, Weights]:
    """The biases of queries, keys and values stay 0."""
    lost = [name for name in weights if "c_attn.bias" in name]
    return GPT(net.config), weights | {n: 0 * weights[n] for n in lost}


def wrong_heads(net: GPT, weights: Weights) -> tuple[GPT, Weights]:
    """One head, as wide as all of them together."""
    return GPT(GPTConfig(**{**vars(net.config), "n_heads": 1})), weights


def square_not_transposed(net: GPT, weights: Weights) -> tuple[GPT, Weights]:
    """The one square matrix of a block, where no shape complains, is not transposed."""
    square = [name for name in weights if "attn.c_proj.weight" in name]
    return GPT(net.config), weights | {n: weights[n].T for n in square}


# in the order of the loss that they cause, as the page counts them
MISTAKES = (other_gelu, positions_from_1, lost_biases, wrong_heads, square_not_transposed)


def load_with(mistake, net: GPT) -> GPT:
    """The model as it is after a loader has made this mistake."""
    broken, given = mistake(net, dict(net.named_parameters()))
    pretrained.load_tensors(dict(broken.named_parameters()), given, "the file")
    return broken.eval()


@cache
def shipped() -> tuple[GPT, CharTokenizer]:
    """The Shakespeare model, and its tokenizer."""
    name = "tiny-shakespeare"
    return GPT.pretrained(name).eval(), CharTokenizer.pretrained(name)


@torch.no_grad()
def loss(net: GPT) -> float:
    """Nats a character on the unseen lines."""
    ids = torch.tensor([shipped()[1].encode(UNSEEN)])
    return F.cross_entropy(net(ids[:, :-1])[0], ids[0, 1:]).item()


def line(net: GPT) -> str:
    """How it continues PROMPT, to the end of the line, with the likeliest characters."""
    chars = shipped()[1]
    start = torch.tensor([chars.encode(PROMPT)])
    ids = generate(net, start, 34, temperature=0)[0].tolist()
    return chars.decode(ids[start.shape[1] - 6 :]).partition("\n")[0]


def glances() -> list[tuple[str, float, str]]:
    """Name, loss and line of the model without a mistake, and with each of them."""
    net, _ = shipped()
    models = {"no mistake": net}
    models |= {f"mistake {i}": load_with(m, net) for i, m in enumerate(MISTAKES, start=1)}
    return [(name, loss(model), line(model)) for name, model in models.items()]
