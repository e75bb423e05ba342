"""What the welcome page says is true."""

import re
from pathlib import Path

import pytest

from scratchformer.data import load_corpus
from scratchformer.tokenizers import WordBPE

ROOT = Path(__file__).resolve().parents[2]
WELCOME = (ROOT / "book" / "welcome.md").read_text(encoding="utf-8")


def test_the_example_comes_apart_as_shown():
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here: set SCRATCHFORMER_DATA, or connect once")
    shown = re.search(r'id="tokens-example">(.*)</p>', WELCOME).group(1)
    sentence = re.sub("<[^>]+>", "", shown)
    tokenizer = WordBPE.train(corpus.text, num_merges=4000)
    tokens = [token.removesuffix("</w>") for token in tokenizer.tokenize(sentence)]
    assert re.findall("<span>(.*?)</span>", shown) == tokens


def test_each_chapter_is_either_there_or_named_as_still_to_come():
    existing = {path.stem[:2] for path in (ROOT / "notebooks").glob("*.ipynb")}
    there, to_come = WELCOME.split("### Still being written")
    assert set(re.findall(r"item-card\} (\d\d) ·", there)) == existing
    planned = set(re.findall(r"\b(\d\d) ", to_come))
    assert planned | existing == {f"{n:02}" for n in range(21)}
    assert planned & existing == set()
