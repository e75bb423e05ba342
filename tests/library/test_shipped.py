"""The shipped model: small, better than counting, and what its record says it is."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from scratchformer.cli import read_config
from scratchformer.data import load_corpus, scored_split
from scratchformer.models import BERT, GPT, KneserNey
from scratchformer.scaling import count_parameters
from scratchformer.shipped import shipped_folder, shipped_record, shipped_words
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate

ROOT = Path(__file__).resolve().parents[2]
NAME = "tiny-shakespeare"


@pytest.fixture(scope="module")
def model():
    return GPT.pretrained(NAME)


@pytest.fixture(scope="module")
def tok():
    return CharTokenizer.pretrained(NAME)


def test_a_name_of_no_model_or_of_one_without_words_is_refused():
    with pytest.raises(ValueError, match="no shipped model 'gpt5': there are english-german, tiny"):
        GPT.pretrained("gpt5")
    with pytest.raises(ValueError, match=r"no shipped model .*shipped': there are"):
        shipped_folder("../shipped")
    with pytest.raises(ValueError, match="'tiny-shakespeare' are no words: it has a CharTokenizer"):
        shipped_words(NAME)


def test_it_is_the_plain_gpt_small_enough_for_a_page(model, tok):
    files = {path.name: path.stat().st_size for path in shipped_folder(NAME).iterdir()}
    assert set(files) == {"config.json", "model.safetensors", "record.json", "tokenizer.json"}
    assert sum(files.values()) < 4_000_000
    parameters = sum(count_parameters(model.config).values())
    assert parameters == shipped_record(NAME)["parameters"] <= 900_000
    assert model.config.bias and model.config.vocab_size == tok.vocab_size
    assert not model.training
    assert all(torch.equal(p, p.half().float()) for p in model.parameters())


def test_its_record_is_of_the_configuration_and_says_everything():
    record, config = shipped_record(NAME), read_config(ROOT / "lab" / "configs" / f"{NAME}.toml")
    stored = record["settings"]
    assert stored["data"] == config["data"] and stored["model"] == config["model"]
    assert stored["training"] == json.loads(json.dumps(config["training"]))
    assert record["steps"] == config["training"]["steps"]
    keys = {"command", "seconds", "training_loss", "commit", "versions", "hardware", "day"}
    assert keys <= record.keys()
    losses = record["losses"]
    assert losses["validation_float16"] < min(losses["counted"].values())
    assert abs(losses["validation"] - losses["validation_float16"]) < 1e-3
    assert losses["validation"] == pytest.approx(record["scored_loss"], abs=1e-3)


@pytest.mark.slow
def test_it_scores_what_its_record_says_and_counting_does_not_reach_it(model, tok):
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here")
    losses = shipped_record(NAME)["losses"]
    training, validation = scored_split(torch.tensor(tok.encode(corpus.text)), "validation")
    loss = evaluate(model, validation, model.context_length)
    assert loss == pytest.approx(losses["validation_float16"], abs=2e-4)
    counted = KneserNey(6).fit(training, tok.vocab_size).nats_per_token(validation)
    assert counted == pytest.approx(losses["counted"]["6"], abs=1e-4)
    assert loss < counted


# ---- the BERT ----

BILINGUAL = "english-german"


def test_the_bert_is_small_enough_for_a_page_and_what_its_record_says():
    model, words, record = (f(BILINGUAL) for f in (BERT.pretrained, shipped_words, shipped_record))
    weights = shipped_folder(BILINGUAL) / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == record["sha256"]
    assert sum(path.stat().st_size for path in shipped_folder(BILINGUAL).iterdir()) < 400_000
    assert sum(p.numel() for p in model.parameters()) == record["parameters"]
    assert len(words) == len(set(words)) == model.config.vocab_size and not model.training
    for p in model.parameters():
        assert torch.equal(p, p.half().float())
    keys = {"command", "settings", "seconds", "development", "validation", "counted", "day"}
    assert keys <= record.keys()
    for kind, counted in record["counted"].items():
        assert record["validation"][kind]["English"] > counted["neighbours"]


def test_a_saved_bert_is_the_same_bert(tmp_path):
    model = BERT.pretrained(BILINGUAL)
    model.save(tmp_path)
    again = BERT.from_pretrained(tmp_path)
    for one, other in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(ValueError, match="holds no GPT"):
        GPT.from_pretrained(tmp_path)
