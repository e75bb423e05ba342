"""Tokenizers against the textbook loop, tiktoken, Hugging Face's Rust, and their own inverses."""

import hashlib
import json
import os
import random
from unittest.mock import Mock

import pytest
import tiktoken
import tiktoken.load
import tokenizers as huggingface
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from lab.table import textbook_merges
from scratchformer.data import Playhouse
from scratchformer.tokenizers import ByteBPE, CharTokenizer, WordBPE, byte_bpe, load_gpt2_tokenizer
from scratchformer.tokenizers.merging import apply_merges, learn_merges
from scratchformer.tokenizers.word_bpe import END_OF_WORD

any_text = st.text(st.characters(exclude_categories=()))  # every code point, lone surrogates too
few_letters = st.lists(st.text("ab", min_size=1, max_size=12), min_size=1, max_size=12)
PLAY = Playhouse(seed=1).text(30_000)
BYTES = ByteBPE.train(PLAY, vocab_size=500, special_tokens=("<|endoftext|>",))
RUST = BYTES.to_tiktoken()


@settings(max_examples=100)
@given(few_letters, st.data())
def test_incremental_merges_are_the_textbook_merges_ties_included(words, data):
    words = list(dict.fromkeys(words))
    counts = [data.draw(st.integers(1, 3)) for _ in words]
    expected = list(textbook_merges(words, counts))
    assert list(learn_merges([list(word) for word in words], counts)) == expected


def test_training_ends_where_nothing_is_left_to_merge():
    assert ByteBPE.train("", vocab_size=300).vocab_size == 256
    assert WordBPE.train("a", num_merges=9).merges == [("a", "</w>")]


# ---- words ----


def test_word_bpe_by_hand_and_a_swallowed_piece_is_split_rather_than_unknown():
    tok = WordBPE.train("king king sing", num_merges=3)  # each pair is in all three words
    assert tok.merges == [("i", "n"), ("in", "g"), ("ing", "</w>")]
    assert tok.tokenize("sing zing") == ["s", "ing</w>", "</u>", "ing</w>"]
    tok = WordBPE(["</u>", "</p>", "i", "n", "</w>"], [("i", "n")])
    assert tok.tokenize("in") == ["i", "n", "</w>"]


@settings(max_examples=50)
@given(st.lists(st.text("abcd.,'", min_size=1, max_size=8), min_size=1))
def test_word_bpe_decodes_what_it_encodes_up_to_white_space(words):
    text = " ".join(words)
    tok = WordBPE.train(text, num_merges=20)
    assert tok.decode(tok.encode(text)) == tok.decode([1, *tok.encode(text), 1]) == text  # padded


def test_word_bpe_encodes_as_hugging_face_does_with_the_same_merges():
    tok = WordBPE.train(PLAY, num_merges=200)
    mark = "\ue000"  # one character in place of the end-of-word mark: Rust starts from characters
    merges = [tuple(piece.replace(END_OF_WORD, mark) for piece in pair) for pair in tok.merges]
    pieces = sorted({*PLAY, mark} | {"".join(pair) for pair in merges})
    model = huggingface.models.BPE({piece: i for i, piece in enumerate(pieces)}, merges)
    rust = huggingface.Tokenizer(model)
    for word in set(Playhouse(seed=2).text(20_000).split()):
        ours = [piece.replace(END_OF_WORD, mark) for piece in tok.pieces(word)]
        assert ours == rust.encode(word + mark).tokens


# ---- bytes ----


@settings(max_examples=200)
@given(any_text | st.text("the ANGST'llowed\n 3.é\u00a0", max_size=40))
def test_byte_bpe_gives_tiktokens_ids_on_any_text_and_decodes_what_it_encodes(text):
    ids = BYTES.encode(text)
    assert ids == RUST.encode_ordinary(text)
    assert BYTES.decode(ids) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@settings(max_examples=100)
@given(st.lists(st.text("abc", min_size=2, max_size=5), unique=True, max_size=12), st.data())
def test_any_vocabulary_gives_tiktokens_ids_even_one_that_no_training_makes(tokens, data):
    """Tokens that no merges lead to, and tokens of a lower rank than their parts."""
    shuffled = data.draw(st.permutations([token.encode() for token in tokens]))
    tok = ByteBPE([bytes([b]) for b in range(256)] + shuffled)
    text = data.draw(st.text("abc ", max_size=40))
    assert tok.encode(text) == tok.to_tiktoken().encode_ordinary(text)


def test_a_chunk_without_a_space_takes_few_look_ups_a_byte_however_long_it_is():
    text = "a" * 30_000 + "".join(random.Random(0).choices("etaoin", k=30_000))
    tok = ByteBPE([*BYTES.tokens, *(b"a" * 2**k for k in range(3, 9))])
    rank = Mock(side_effect=lambda left, right: tok.ids.get(left + right))
    pieces = apply_merges([bytes([b]) for b in text.encode()], rank)
    assert rank.call_count < 4 * len(text)
    assert [tok.ids[piece] for piece in pieces] == tok.to_tiktoken().encode_ordinary(text)


def test_special_tokens_need_permission_and_of_two_that_begin_alike_the_longest_counts():
    text = "One.<|a|>b|>Two." * 9
    for names in (("<|a|>", "<|a|>b|>"), ("<|a|>b|>", "<|a|>")):
        tok = ByteBPE.train(text, 300, names)
        assert not any(b"<|" in token for token in tok.tokens), "a special token was trained on"
        short, long = (tok.special_tokens[name] for name in sorted(names))
        assert {short, long} == {tok.vocab_size - 2, tok.vocab_size - 1}
        ids = tok.encode(text, allow_special=True)
        assert ids.count(long) == 9 and short not in ids and tok.decode(ids) == text
        assert not {short, long} & {*tok.encode(text)}
    assert "\ufffd".encode() in ByteBPE.train("\ud800 \ud800 \ud800", 259).tokens  # as encoded


# ---- published files ----


def test_from_tiktoken_is_gpt2_and_offline_the_files_of_tiktoken_are_used(monkeypatch):
    try:
        tok = ByteBPE.from_tiktoken("gpt2")
    except OSError as error:
        pytest.skip(str(error))
    gpt2 = tiktoken.get_encoding("gpt2")
    text = "I HAD always thought Jack Gisburn rather a cheap genius 東京 🎭\n\n  <|endoftext|>"
    assert tok.vocab_size == 50_257
    assert tok.encode(text) == gpt2.encode_ordinary(text)
    assert tok.encode(text, allow_special=True) == gpt2.encode(text, allowed_special="all")
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    assert ByteBPE.from_tiktoken("gpt2").tokens == tok.tokens


@pytest.mark.parametrize("content", [None, "half a file"])
def test_offline_without_gpt2s_files_a_small_tokenizer_stands_in(monkeypatch, tmp_path, content):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.fspath(tmp_path))
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(tiktoken.load, "read_file", lambda url: pytest.fail("asked"))
    for file, _ in byte_bpe.PUBLISHED["gpt2"] if content else ():
        name = hashlib.sha1((byte_bpe.STORE + file).encode())
        (tmp_path / name.hexdigest()).write_text(content)
    with pytest.raises(OSError, match="TIKTOKEN_CACHE_DIR") as error:
        ByteBPE.from_tiktoken("gpt2")
    assert "missing or broken; SCRATCHFORMER_OFFLINE forbids" in str(error.value.__cause__)
    assert len(list(tmp_path.iterdir())) == (2 if content else 0), "a broken copy was deleted"
    with pytest.warns(UserWarning, match="stands in"):
        tok = load_gpt2_tokenizer()
    assert tok.vocab_size == 1024 and tok.decode(tok.encode("naïve 🎭")) == "naïve 🎭"


# ---- on disk, and what is refused ----

UNUSUAL = ByteBPE(BYTES.tokens, {"<naïve>": len(BYTES.tokens)}, pattern=r"\S+|\s+")
FEW = ByteBPE([b"a", b"th", b" "], every_byte=False)


@pytest.mark.parametrize(
    "tok",
    [CharTokenizer.train(PLAY), WordBPE.train(PLAY, 100), BYTES, UNUSUAL, FEW],
    ids=["characters", "words", "bytes", "another pattern", "few bytes"],
)
def test_a_saved_tokenizer_comes_back_the_same_and_refuses_what_it_cannot_read(tok, tmp_path):
    path, kind = tmp_path / "tok.json", type(tok)
    tok.save(path)
    saved = json.loads(path.read_text(encoding="utf-8"))
    if tok is UNUSUAL:  # as older files have it
        path.write_text(json.dumps({key: saved[key] for key in saved if key != "every_byte"}))
    again, text = kind.load(path), PLAY[:5_000]
    assert getattr(again, "every_byte", None) == getattr(tok, "every_byte", None)
    assert again.vocab_size == tok.vocab_size and again.encode(text) == tok.encode(text)
    assert [p.name for p in tmp_path.iterdir()] == ["tok.json"], "a leftover beside the file"
    keys = saved.keys() - {"tokenizer"}
    for content, words in (
        (json.dumps(saved | {"tokenizer": "Other"}), f"holds a Other, expected a {kind.__name__}"),
        (json.dumps(saved | dict.fromkeys(keys, 5)), r"tok\.json is damaged"),
        (json.dumps(saved | {min(keys): "€\ud800"} | {"tokens": [5]}), r"tok\.json is damaged"),
        (json.dumps({"tokenizer": kind.__name__}), "is missing"),
        ('{"tokenizer": ', "not a saved tokenizer"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=words):
            kind.load(path)
    for bad in (-1, tok.vocab_size):
        with pytest.raises(ValueError, match=rf"id {bad} is outside the vocabulary of"):
            tok.decode([bad])


ALL = [bytes([b]) for b in range(256)]
test_what_makes_no_sense_is_refused = refused(
    {
        "'z' is not one of the 4 known": lambda: CharTokenizer.train("hello").encode("zoo"),
        "characters repeat": lambda: CharTokenizer("aa"),
        "num_merges=-1": lambda: WordBPE.train("a", num_merges=-1),
        "vocab_size=256 is less than 256 bytes": lambda: ByteBPE.train("a", 256, ("<|end|>",)),
        r"bytes \[0, 1, 2, 3, 4\] have no token": lambda: ByteBPE([b"a"]),
        "expected the ids": lambda: ByteBPE(ALL, {"<a>": 300}),
        r"\('',\); expected distinct, non-empty": lambda: ByteBPE.train("a", 300, ("",)),
        "'<a>'.*; expected distinct, non": lambda: ByteBPE.train("a", 300, ("<a>", "<a>")),
        "no tokenizer 'cl100k_base', expected": lambda: ByteBPE.from_tiktoken("cl100k_base"),
        r"'\(a\)\|.' captures a group": lambda: ByteBPE(ALL, pattern="(a)|."),
        r"'\(' is no pattern": lambda: ByteBPE(ALL, pattern="("),
        "character 2 of the text is '\\\\udcef'": lambda: CharTokenizer.train("na\udcefve"),
        "character 0 of the token": lambda: WordBPE(["</u>", "</p>", "\ud83d"], []),
        "character 1 of '<": lambda: ByteBPE.train("ab", 257, ("<\ud83d>",)),
    }
)
