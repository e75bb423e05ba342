"""A GPT-2 as wide as the real one, as OpenAI's file holds it: it loads, exactly."""

import json

import pytest
import torch
from safetensors.torch import save_file

from scratchformer.models import GPT
from scratchformer_course.ch18_gpt2 import exercises

transformers = pytest.importorskip("transformers")


def test_a_file_like_openais_loads_and_gives_the_logits_of_transformers(tmp_path):
    config = transformers.GPT2Config(n_layer=1)  # by default the smallest, which has twelve
    torch.manual_seed(0)
    theirs = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.uniform_(-0.1, 0.1)  # biases and norms too, so that each of them counts
    weights = {
        name.removeprefix("transformer."): tensor.contiguous()
        for name, tensor in theirs.state_dict().items()
        if name != "lm_head.weight"
    }
    mask = torch.ones(1, 1, 1024, 1024).tril()
    weights |= {f"h.{i}.attn.bias": mask.clone() for i in range(1)}
    save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    ours = GPT.from_pretrained(tmp_path).eval()
    block = sum(p.numel() for p in ours.h.parameters())
    assert sum(p.numel() for p in ours.parameters()) + 11 * block == 124_439_808
    ids = torch.randint(50_257, (1, 24))
    with torch.no_grad():
        expected, logits = theirs(ids).logits, ours(ids)
    assert expected.std() > 0.1
    torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-3)
    own = dict(ours.named_parameters())
    for answer in exercises.from_gpt2.solutions:
        translated = answer(weights)
        assert translated.keys() == own.keys()
        assert all(torch.equal(translated[name], tensor) for name, tensor in own.items())
