"""What a page asks of the real model is answered: tokens, chances, texts that are written, and steered."""

import numpy as np
import pytest
import torch

from scratchformer.generation import chat, generate
from scratchformer.models import Llama
from scratchformer.tokenizers import ByteBPE
from tests.library.small_gguf import write_gguf
from tests.node import JavaScriptError
from tests.real_model.in_node import node, real_file

# `model` is the page's client, whose worker is the page itself
CLIENT = """
require(`${process.cwd()}/scratchformer_course/kit/figure/workers.js`);
for (const part of ["session", "client"]) {
  require(`${process.cwd()}/scratchformer_course/real_model/model_${part}.js`);
}
const model = course.modelClient.newClient();
model.open(new Blob([require("fs").readFileSync(input.path)]));
const steps = [];
const write = (prompt, signal) => model.write(prompt, (step) => steps.push(step), signal);
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("small") / "a.gguf", "Q8_0")


def asked(path, body, **given):
    return node(f"{CLIENT}{body}", path=str(path), **given)
