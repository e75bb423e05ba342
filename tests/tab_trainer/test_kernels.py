"""The trainer's WebAssembly: the bytes that a page carries are those of the texts beside them."""

import base64
import re

import pytest

from scratchformer_course.kit.figure.live_figure import PACKAGE, read

wasmtime = pytest.importorskip("wasmtime")


@pytest.mark.parametrize("kind", ["simd", "fused"])
def test_the_bytes_of_a_kernel_are_those_of_its_text(kind):
    text = (PACKAGE / f"tab_trainer/product_{kind}.wat").read_text(encoding="utf-8")
    assembled = base64.b64encode(wasmtime.wat2wasm(text)).decode()
    stored = re.search(rf'{kind}:\s+"(.+)"', read("tab_trainer/kernels.js"))[1]
    assert stored == assembled, f"kernels.js should hold {kind}: {assembled!r}"
