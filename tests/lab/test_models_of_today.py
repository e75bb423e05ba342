"""The census and the dozen models are what the release says, and their caches are real."""

import pytest
import torch

from lab import runs
from scratchformer.models import Llama
from scratchformer.models.llama import LlamaConfig
from scratchformer_course.measurements import load_measurements
from scratchformer_course.pages.side_by_side.live import kept

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from lab import census, in_public, models_of_today  # noqa: E402

STORED = load_measurements("models_of_today")["of"]
SAME_RELEASE = load_measurements("census")["release"] == transformers.__version__
of_release = pytest.mark.skipif(not SAME_RELEASE, reason="another release of transformers")


@of_release
@pytest.mark.slow
def test_a_census_of_the_installed_release_gives_the_stored_one():
    stored, found = load_measurements("census"), census.measure()
    assert runs.as_json(found["models"]) == stored["models"]
    assert found["count"] == stored["count"]


@of_release
@pytest.mark.parametrize("name", models_of_today.MODELS)
def test_a_model_has_the_stored_parts_and_about_as_many_weights_as_its_makers_say(name):
    found = runs.as_json(models_of_today.described(name))
    assert found == STORED[name]
    *_, weights, used = models_of_today.MODELS[name]
    assert found["weights"] == pytest.approx(1e9 * weights, rel=0.07 if weights == 7 else 0.03)
    if used:  # told in whole thousand millions, and by some without the head
        assert found["used"] / 1e9 == pytest.approx(used, abs=0.6)


@pytest.mark.parametrize("name", models_of_today.MODELS)
def test_the_cache_of_a_small_model_of_the_same_parts_is_as_large_as_the_sum_says(name):
    folder, kind, *_ = models_of_today.MODELS[name]
    model_class = getattr(census.module(folder), kind)
    n = 256  # a multiple of what any layer compresses
    config = in_public.small_config(model_class.config_class, max_position_embeddings=n)
    config.sliding_window = 8 if getattr(config, "sliding_window", None) else None
    torch.manual_seed(0)
    model = model_class(config).eval()
    with torch.no_grad():
        cache = model(torch.randint(config.vocab_size, (1, n)), use_cache=True).past_key_values
    counted = kept({"cache": models_of_today.cached(config)}, n) / 2
    assert numbers_in(cache) == counted


def numbers_in(cache):
    """How many numbers the tensors of a cache hold, each tensor counted once."""
    found, waiting = {}, list(cache.layers)
    while waiting:
        part = waiting.pop()
        if isinstance(part, torch.Tensor):
            found[id(part)] = part.numel() if part.is_floating_point() else 0
        elif isinstance(part, dict | list | tuple):
            waiting += part.values() if isinstance(part, dict) else part
        elif hasattr(part, "__dict__"):
            waiting += vars(part).values()
    return sum(found.values())


def test_a_model_without_a_missing_switch_is_a_llama_of_as_many_weights():
    can = [n for n, m in STORED.items() if all(s is not None for _, s in m["parts"].values())]
    assert can == ["Mistral 7B", "Llama 3 8B", "SmolLM2 135M", "Qwen3 8B"]
    for name in can:
        model = STORED[name]
        settings = ", ".join(s for _, s in model["parts"].values() if s)
        sizes = {"vocab_size": model["vocabulary"], "d_model": model["width"]}
        sizes |= {"n_layers": len(model["kinds"]), "context_length": 8}
        config = LlamaConfig(**sizes, **eval(f"dict({settings})"))
        with torch.device("meta"):
            assert runs.size(Llama(config)) == model["weights"]
