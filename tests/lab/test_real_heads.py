"""The held-out texts of chapter 06's head: nothing in them chose it, and each word is found."""

import pytest
import torch

from lab import real_heads
from scratchformer.models import Llama, LlamaConfig
from scratchformer.tokenizers import ByteBPE


def test_no_country_of_the_trial_chose_the_head_or_is_on_the_page():
    used = {*real_heads.FOUND_WITH, "France", "Italy", "Japan"}
    assert not used & set(real_heads.COUNTRIES)
    tried = real_heads.texts()
    assert len({text for _, text, _ in tried}) == len(tried) == 52
    assert all(text.count(own) == 1 and text.endswith(" is") for _, text, own in tried)
    for word, text in real_heads.NO_PLACES.items():
        assert text.count(word) == 1 and text.endswith(" is")


def test_the_weight_of_a_word_is_that_of_all_its_tokens(monkeypatch):
    monkeypatch.setattr(real_heads, "BLOCK", 1)
    text = "In Cuba they say that the capital of Vietnam is"
    tok = ByteBPE.train(text, vocab_size=260)
    torch.manual_seed(0)
    config = LlamaConfig(260, context_length=64, d_model=16, n_heads=2, n_layers=1)
    model = Llama(config).eval()
    hits, weights = zip(
        *(real_heads.looked_at(model, tok, text, word, 2) for word in text.split()), strict=True
    )
    assert sum(hits) <= 1 and 0 < sum(weights) < 1  # the spaces have the rest
    hit, everything = real_heads.looked_at(model, tok, text, text, 2)
    assert hit and everything == pytest.approx(1, abs=1e-5)
