"""Packed matrices in JavaScript: weights are Python's to the last bit, with and without SIMD."""

import base64
import re

import numpy as np
import pytest

from scratchformer.data.gguf import read_gguf, unpack
from scratchformer_course.kit.figure.live_figure import PACKAGE, read
from tests.library.small_gguf import write_gguf
from tests.real_model.in_node import node, numbers

EXACT, INPUT = "blk.1.ffn_down.weight", 96


def test_the_bytes_of_the_program_are_those_of_its_text():
    wasmtime = pytest.importorskip("wasmtime")
    text = (PACKAGE / "real_model/packed_product.wat").read_text(encoding="utf-8")
    assembled = base64.b64encode(wasmtime.wat2wasm(text)).decode()
    stored = re.search(r'PROGRAM =\s+"(.*)"', read("real_model/packed.js"))[1]
    assert stored == assembled, f"packed.js should hold {assembled!r}"


@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0"])
def test_weights_are_pythons_to_the_last_bit(tmp_path, kind):
    path = write_gguf(tmp_path / "a.gguf", kind)
    rows = "for (let r = 0; r < 64; r++) all.set(P.rowOf(model.store, input.name, r), r * 96);"
    body = f"const all = new Float32Array(64 * 96); {rows} give(all)"
    weights = numbers(path, body, name=EXACT).reshape(64, INPUT)
    assert np.array_equal(weights, unpack(read_gguf(path)[1][EXACT]))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0"])
def test_products_of_one_token_and_of_many_are_those_of_the_unpacked_matrix(tmp_path, kind, plain):
    path = write_gguf(tmp_path / "a.gguf", kind)
    weights = unpack(read_gguf(path)[1][EXACT]).astype(np.float64)
    rng = np.random.default_rng(0)
    for T in (1, 2, 16, 17, 40):
        x = rng.normal(size=(T, INPUT)).astype(np.float32)
        body = "give(P.product(model.store, input.name, Float32Array.from(input.x)))"
        y = numbers(path, body, name=EXACT, x=x.ravel().tolist(), plain=plain).reshape(T, 64)
        assert np.abs(y - x @ weights.T).max() < 1e-5
    kinds = node("return Object.values(globalThis.opened).map((model) => model.store.kind)")
    assert "plain" in kinds if plain else "simd" in kinds
