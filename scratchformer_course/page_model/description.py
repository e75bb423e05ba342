"""A trained GPT as one plain description, for a program without PyTorch: `model.js` beside it.

The description is JSON: the settings, the names and shapes of the tensors, all weights one after
the other as float16 in base64, and the tokenizer. It is made of the package's GPT and SpeedrunGPT
and of any class with GPT-2's parameter names that computes the same. `fewer_bits.py` makes int8 of
the weights.
"""

import base64
import hashlib
import json
from dataclasses import asdict, fields
from typing import Any

import torch
from torch import Tensor, nn

from scratchformer.models import GPT
from scratchformer.models.pretrained import load_tensors
from scratchformer.tokenizers import ByteBPE, CharTokenizer
from scratchformer.training import eval_mode
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

# A trained model does not show these
TRAINING_ONLY = ("zero_init", "wide_init", "bigram_dropout", "explicit_attention")
# Switches that the page's model does not have
UNSUPPORTED = {"norm", "n_kv_heads", "qk_norm_weights", "window", "n_experts", "n_active"}
LARGEST_FLOAT16 = torch.finfo(torch.float16).max


def describe(model: nn.Module, tokenizer: Any) -> dict[str, Any]:
    """Settings, tensors, weights and tokenizer, and a `hash` of all of them.

    Before that, the settings are put to the test: a SpeedrunGPT of these settings with the same
    weights must give the logits that `model` gives. Raises ValueError if it does not, for a model
    that gives no logits, for a weight that is not finite or that float16 cannot hold, and for a
    tokenizer of another size; TypeError for another tokenizer.
    """
    described_tokenizer = describe_tokenizer(tokenizer)
    weights = {name: p.detach().cpu().float() for name, p in model.named_parameters()}
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise ValueError(f"{name} holds numbers that are not finite, expected trained weights")
    equivalent_model = find_equivalent_model(model, weights)
    if tokenizer.vocab_size != equivalent_model.config.vocab_size:
        raise ValueError(
            f"the tokenizer has {tokenizer.vocab_size} tokens, "
            f"expected the model's vocab_size={equivalent_model.config.vocab_size}"
        )
    description = {
        "config": page_settings(equivalent_model.config),
        "tensors": [{"name": name, "shape": list(t.shape)} for name, t in weights.items()],
        "weights": pack(weights),
        "tokenizer": described_tokenizer,
    }
    text = json.dumps(description, sort_keys=True)
    return {"hash": hashlib.sha256(text.encode()).hexdigest()[:16], **description}


def page_settings(config: SpeedrunConfig) -> dict[str, Any]:
    """What the page's model is told; ValueError for a switch that it does not have."""
    settings = asdict(config)
    for field in fields(config):
        value, other = settings[field.name], ("swiglu", "rotary_halves")
        if value in other or (field.name in UNSUPPORTED and value != field.default):
            raise ValueError(f"{field.name}={value!r}: the model of the page cannot compute that")
    return {k: v for k, v in settings.items() if k not in (*TRAINING_ONLY, *UNSUPPORTED)}


def pack(weights: dict[str, Tensor]) -> str:
    """All numbers in the order of the dict, as float16, the low byte first, in base64."""
    for name, tensor in weights.items():
        largest = tensor.abs().max().item()
        if not largest <= LARGEST_FLOAT16:
            raise ValueError(f"{name} holds {largest:g}, expected at most {LARGEST_FLOAT16:g}")
    numbers = torch.cat([tensor.flatten() for tensor in weights.values()])
    return base64.b64encode(numbers.half().numpy().astype("<f2").tobytes()).decode()


def describe_tokenizer(tokenizer: Any) -> dict[str, Any]:
    """What the other program needs to cut text into tokens and to join them; as in their files."""
    if isinstance(tokenizer, CharTokenizer):
        return {"tokenizer": "CharTokenizer", "characters": list(tokenizer.characters)}
    if isinstance(tokenizer, ByteBPE):
        return {
            "tokenizer": "ByteBPE",
            "pattern": tokenizer.pattern,
            "special_tokens": tokenizer.special_tokens,
            "tokens": [token.decode("latin-1") for token in tokenizer.tokens],
        }
    raise TypeError(f"got a {type(tokenizer).__name__}, expected a CharTokenizer or a ByteBPE")


def find_equivalent_model(model: nn.Module, weights: dict[str, Tensor]) -> SpeedrunGPT:
    """A SpeedrunGPT with these weights that gives the model's logits; ValueError if none does."""
    ids = torch.arange(min(_length(model, weights), 24)) * 7 % len(weights["wte.weight"])
    device = next(model.parameters()).device
    with eval_mode(model):
        logits = model(ids[None].to(device))
    shape = (1, len(ids), len(weights["wte.weight"]))
    if not isinstance(logits, Tensor) or logits.shape != shape:
        actual = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise ValueError(f"the model gives {actual}, expected logits of shape (1, T, V) = {shape}")
    expected = logits[0].float().cpu()  # (T, V)
    difference, equivalent_model = float("inf"), None
    for config in _possible_configs(model, weights):
        with torch.random.fork_rng(devices=[]):  # the notebook's own draws stay as they were
            candidate = SpeedrunGPT(config).eval()
        load_tensors(dict(candidate.named_parameters()), weights, "the model")
        with torch.no_grad():
            error = (candidate(ids[None])[0] - expected).abs().max().item()
        if error < difference:
            difference, equivalent_model = error, candidate
    scale, dtype = max(1.0, expected.abs().max().item()), next(model.parameters()).dtype
    if equivalent_model is None or not difference <= scale * torch.finfo(dtype).eps ** 0.5:
        raise ValueError(
            f"the model computes something else than a GPT with its weights: logits differ by up "
            f"to {difference:.3g}. Only GPT, SpeedrunGPT and what is equal to them can be shown"
        )
    return equivalent_model


def _length(model: nn.Module, weights: dict[str, Tensor]) -> int:
    """How many tokens the model reads."""
    if "wte.weight" not in weights:
        raise ValueError(f"the model has no parameter wte.weight, only {', '.join(weights)[:200]}")
    length = getattr(model, "context_length", None)
    if length is None and "wpe.weight" in weights:
        length = len(weights["wpe.weight"])
    if length is None:
        raise ValueError("the model has neither wpe.weight nor context_length")
    return length


def _possible_configs(model: nn.Module, weights: dict[str, Tensor]) -> list[SpeedrunConfig]:
    """The one that the model says; for a reader's own class, one for each number of heads.

    Weights do not tell how many heads share them, and each reader calls that number otherwise.
    """
    if isinstance(model, SpeedrunGPT):
        return [model.config]
    if isinstance(model, GPT):
        shared = {f.name for f in fields(SpeedrunConfig)}
        settings = asdict(model.config)
        return [SpeedrunConfig(**{k: v for k, v in settings.items() if k in shared})]
    V, C = weights["wte.weight"].shape
    return [
        SpeedrunConfig(
            vocab_size=V,
            context_length=_length(model, weights),
            d_model=C,
            n_heads=n_heads,
            n_layers=len({name.split(".")[1] for name in weights if name.startswith("h.")}),
            bias="ln_f.bias" in weights,
            tied="lm_head.weight" not in weights,
        )
        for n_heads in range(1, C + 1)
        if C % n_heads == 0
    ]
