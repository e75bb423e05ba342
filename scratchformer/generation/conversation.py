"""An answer from a model that was trained on conversations."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from scratchformer.generation.sampling import generate
from scratchformer.tokenizers import ByteBPE

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # its makers' words


def chat(
    model: nn.Module,
    tokenizer: ByteBPE,
    message: str,
    before: Sequence[tuple[str, str]] = (("system", SYSTEM),),
    max_new_tokens: int = 256,
    show: Callable[[str], object] | None = None,
    temperature: float = 0.0,
    **settings: Any,
) -> str:
    """The answer to a message, after the turns (role, text) `before` it.

    Each turn stands between the tokens <|im_start|> and <|im_end|>, as in what SmolLM2 was trained
    on; the model ends its own with the second. Their names in a text are ordinary text. `show` is
    given the answer so far after each token. Settings are `generate`'s; without a temperature the
    likeliest token is taken. Raises ValueError for a tokenizer without the two tokens.
    """
    turn_tokens = [tokenizer.special_tokens.get(name) for name in ("<|im_start|>", "<|im_end|>")]
    if None in turn_tokens:
        raise ValueError("the tokenizer has no <|im_start|> and <|im_end|>: no model to talk to")
    start, end = turn_tokens
    ids: list = []
    for role, text in (*before, ("user", message)):
        ids += [start, *tokenizer.encode(f"{role}\n{text}"), end, *tokenizer.encode("\n")]
    ids += [start, *tokenizer.encode("assistant\n")]
    answer: list[int] = []

    def on_token(token: Tensor) -> bool:
        answer.append(int(token))
        if show is not None and answer[-1] != end:
            show(tokenizer.decode(answer))
        return answer[-1] == end

    prompt = torch.tensor([ids])
    generate(model, prompt, max_new_tokens, temperature, **settings, until=on_token)
    return tokenizer.decode(i for i in answer if i != end)
