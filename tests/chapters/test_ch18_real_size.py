"""A GPT-2 of the real size with random weights, as OpenAI's file holds them: it loads, exactly."""

import json

import pytest
import torch
from safetensors.torch import save_file

from scratchformer.models import GPT
from scratchformer_course.ch18_gpt2 import exercises

transformers = pytest.importorskip("transformers")


@pytest.mark.slow
def test_a_file_like_openais_loads_and_gives_the_logits_of_transformers(tmp_path):
    config = transformers.GPT2Config()  # the smallest GPT-2 by default: 50,257, 1024, 768, 12, 12
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
    weights |= {f"h.{i}.attn.bias": mask.clone() for i in range(12)}
    save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    size = (tmp_path / "model.safetensors").stat().st_size
    assert abs(size - 548_105_171) < 20_000  # OpenAI's on the hub, but for its table of contents

    ours = GPT.from_pretrained(tmp_path).eval()
    assert sum(p.numel() for p in ours.parameters()) == 124_439_808
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
