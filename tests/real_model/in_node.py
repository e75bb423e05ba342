"""The Llama in JavaScript, asked by tests: what it computes, as arrays."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from scratchformer.data import real_model
from tests.node import Node

node = Node(
    "page_model/model.js",
    G="real_model/gguf.js",
    tokenizers="page_model/tokenizer.js",
    V="real_model/vocabulary.js",
    P="real_model/packed.js",
    F="real_model/fewer_bits.js",
    C="real_model/changes.js",
    L="real_model/llama.js",
)
# A file is opened once; `fresh` opens it again, since fewer bits change a model for good
MODEL = """
const { readFileSync, writeFileSync } = require("fs");
const blob = () => new Blob([readFileSync(input.path)]);
const { fresh, plain = false } = input, opened = (globalThis.opened ??= {});
const key = `${input.path} ${plain}`;
if (fresh || !opened[key]) opened[key] = await L.load(await G.open(blob()), plain);
const model = opened[key];
const give = (numbers) => writeFileSync(input.to, numbers);
"""
FORWARD = """
const run = L.forward(model, input.ids, { change: input.change, ask: { logits: "all" } });
give(run.logits);
"""


def numbers(path, body, **given):
    """The float32 that a JavaScript `body` hands to `give`; `model` is the file's at this path."""
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "numbers"
        node(MODEL + body, path=str(path), to=str(to), **given)
        return np.fromfile(to, np.float32)


def logits(path, ids, **given):
    """Logits after each token, (T, V)."""
    return numbers(path, FORWARD, ids=ids, **given).reshape(len(ids), -1)


def real_file():
    """SmolLM2's file; the test is skipped where it is not at hand."""
    try:
        return real_model.find_real_model(download=False)
    except OSError:
        pytest.skip("SmolLM2 is not at hand: python -m scratchformer.data.real_model")
