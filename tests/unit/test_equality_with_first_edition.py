"""The models compute what the first edition's classes computed, which had a switch for everything.

tests/fixtures/first_edition.safetensors was written by the first edition's own code (commit
b8ed726: `models/gpt.py`, `models/ladder.py` and the benchmarks as they were there). For each model
it holds the logits of two texts and, for the gradient of every parameter of the mean
cross-entropy, its length and its product with a fixed random direction. Weights and directions
depend on a parameter's name and shape alone, so no weights are stored. The settings of its chapter
14 stand beside it, in first_edition.json.
"""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
import torch.nn.functional as F

from benchmarks import ladder, variants
from scratchformer.cli import read_config
from scratchformer.models import GPT, MODEL_TYPES

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests" / "fixtures" / "first_edition.safetensors"
V = 65
# GPT-2's published sizes and chapter 18's: (blocks, heads). Heads are 2 wide, to keep files small.
HUGGING_FACE = {"gpt2": (12, 12), "gpt2-medium": (24, 16), "gpt2-large": (36, 20)}
HUGGING_FACE |= {"gpt2-xl": (48, 25), "chapter-17": (2, 4)}
SMALLER = {"gpt2-124m": {"d_model": 48, "context_length": 16}}  # two settings too large for a file
SMALLER |= {"shakespeare-10m": {"d_model": 48}}
NEW = ("record-", "tiny-shakespeare")  # configurations that the first edition did not have


def random_like(name: str, p: torch.Tensor) -> torch.Tensor:
    """Standard normal numbers that depend on `name` and p's shape only."""
    seed = zlib.crc32(f"{name} {tuple(p.shape)}".encode())
    return torch.from_numpy(np.random.RandomState(seed).standard_normal(p.shape)).to(p.dtype)


def fill(model: torch.nn.Module) -> None:
    """Give every parameter weights of its own, none of them neutral."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            scale = p.shape[1] ** -0.5 if p.dim() == 2 else 0.2
            center = 1.0 if p.dim() == 1 and name.endswith("weight") else 0.0
            p.copy_(center + scale * random_like(name, p))


def measure(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Logits of two texts, and two numbers for each parameter's gradient, by sorted names."""
    fill(model)
    ids = torch.from_numpy(np.random.RandomState(0).randint(V, size=(2, 17)))
    ids = ids[:, : min(model.context_length, 16) + 1] if model.context_length > 1 else ids
    logits = model(ids[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    rows = []
    for name, p in sorted(model.named_parameters()):
        direction = random_like(f"direction of {name}", p)
        rows.append(torch.stack((p.grad.norm(), (p.grad * direction).sum())))
    return {"logits": logits.detach(), "gradients": torch.stack(rows)}


def cases() -> dict:
    """Name -> a function that builds the model."""
    found = {f"ladder/{name}": (ladder.build, name, V, 0) for name in ladder.RUNGS}
    for name, model in json.loads(STORED.with_suffix(".json").read_text()).items():
        found[name] = variants.build, V, model
    for path in sorted((ROOT / "configs").glob("*.toml")):
        if path.stem.startswith(NEW):
            continue
        model = read_config(path)["model"] | SMALLER.get(path.stem, {}) | {"dropout": 0.0}
        found[f"configs/{path.stem}"] = from_table, model
    for name, (blocks, heads) in HUGGING_FACE.items():
        size = {"context_length": 16, "d_model": 2 * heads, "n_heads": heads, "n_layers": blocks}
        found[f"hugging-face/{name}"] = from_table, size
    return found


def from_table(model: dict) -> torch.nn.Module:
    """The model of a configuration file's [model]."""
    model = dict(model)
    cls, config = MODEL_TYPES[model.pop("type", "gpt")]
    if cls is not GPT:
        model.pop("dropout")
    return cls(config(vocab_size=V, **model))


STORED_TENSORS = safetensors.torch.load_file(STORED)


@pytest.mark.parametrize("name", sorted({key.split("|")[0] for key in STORED_TENSORS}))
def test_logits_and_gradients_are_those_of_the_first_edition(name):
    build, *arguments = cases()[name]
    found = measure(build(*arguments))
    for part, values in found.items():
        torch.testing.assert_close(values, STORED_TENSORS[f"{name}|{part}"], rtol=1e-5, atol=1e-5)


def test_every_model_in_use_has_a_fixture():
    assert {key.split("|")[0] for key in STORED_TENSORS} == set(cases())


def test_the_fixtures_can_tell_models_apart():
    """Two settings of one shape differ in their logits by far more than is forgiven."""
    for one, other in (("our setting", "RMSNorm"), ("our setting", "GELU")):
        a, b = (STORED_TENSORS[f"ablation/{name}|logits"] for name in (one, other))
        assert (a - b).abs().max() > 1e-2
