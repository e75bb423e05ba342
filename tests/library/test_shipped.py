"""The shipped models: small, and better than counting, as their records say."""

import hashlib

import pytest
import torch
from refusals import refused

from scratchformer.data import load_corpus, scored_split
from scratchformer.models import BERT, GPT, KneserNey
from scratchformer.shipped import shipped_folder, shipped_record, shipped_words
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate

SHAKESPEARE, BILINGUAL = "tiny-shakespeare", "english-german"


test_a_name_of_no_model_or_of_one_without_words_is_refused = refused(
    {
        "no shipped model 'gpt5': there are english-german, tiny": lambda: GPT.pretrained("gpt5"),
        "no shipped model .*shipped': there are": lambda: shipped_folder("../shipped"),
        "'tiny-shakespeare' are no words: it has a Char": lambda: shipped_words(SHAKESPEARE),
    }
)


@pytest.mark.parametrize(
    ("name", "kind", "most_bytes"), [(SHAKESPEARE, GPT, 4_000_000), (BILINGUAL, BERT, 400_000)]
)
def test_a_model_is_small_enough_for_a_page_and_saved_and_read_again_the_same(
    tmp_path, name, kind, most_bytes
):
    model, folder, record = kind.pretrained(name), shipped_folder(name), shipped_record(name)
    assert sum(path.stat().st_size for path in folder.iterdir()) < most_bytes
    assert sum(p.numel() for p in model.parameters()) == record["parameters"]
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert record.get("sha256", digest) == digest and not model.training
    tok = CharTokenizer.pretrained(name).characters if kind is GPT else shipped_words(name)
    assert len(tok) == len(set(tok)) == model.config.vocab_size
    model.save(tmp_path)
    again = kind.from_pretrained(tmp_path)
    for p, q in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(p, q) and torch.equal(p, p.half().float())


@pytest.mark.slow
def test_it_scores_what_its_record_says_and_counting_does_not_reach_it():
    corpus, model = load_corpus("tinyshakespeare"), GPT.pretrained(SHAKESPEARE)
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here")
    ids = torch.tensor(CharTokenizer.pretrained(SHAKESPEARE).encode(corpus.text))
    losses = shipped_record(SHAKESPEARE)["losses"]
    training, validation = scored_split(ids, "validation")
    loss = evaluate(model, validation, model.context_length)
    assert loss == pytest.approx(losses["validation_float16"], abs=2e-4)
    counted = KneserNey(6).fit(training, model.config.vocab_size).nats_per_token(validation)
    assert counted == pytest.approx(losses["counted"]["6"], abs=1e-4)
    assert loss < counted
