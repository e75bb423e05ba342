"""Tokenizers against the textbook loop, tiktoken, Hugging Face's Rust, and their own inverses."""

import contextlib
import hashlib
import json
import os
import random
from collections import Counter
from itertools import islice, product

import pytest
import tiktoken
import tiktoken.load
import tokenizers as huggingface
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.bpe import textbook_merges
from scratchformer.data import Playhouse
from scratchformer.tokenizers import ByteBPE, CharTokenizer, WordBPE, byte_bpe, load_gpt2_tokenizer
from scratchformer.tokenizers.merging import apply_merges, learn_merges
from scratchformer.tokenizers.word_bpe import END_OF_WORD

any_text = st.text(st.characters(exclude_categories=()))  # every code point, lone surrogates too
few_letters = st.lists(st.text("ab", min_size=1, max_size=12), min_size=1, max_size=12)
PLAY = Playhouse(seed=1).text(30_000)


@settings(max_examples=100)
@given(few_letters, st.data())
def test_incremental_merges_are_the_textbook_merges_ties_included(words, data):
    words = list(dict.fromkeys(words))
    counts = [data.draw(st.integers(1, 3)) for _ in words]
    expected = list(textbook_merges(words, counts))
    assert list(learn_merges([list(word) for word in words], counts)) == expected


def test_incremental_merges_are_the_textbook_merges_on_a_play():
    table = Counter(PLAY.split())
    words, counts = [[*word, END_OF_WORD] for word in table], list(table.values())
    expected = list(islice(textbook_merges(words, counts), 150))
    assert list(islice(learn_merges(words, counts), 150)) == expected


def test_word_bpe_by_hand():
    tok = WordBPE.train("low low low lower newest newest", num_merges=4)
    # l-o 4, then lo-w 4, then (first seen of the 3s) low-</w>; then the first of the 2s: n-e
    assert tok.merges == [("l", "o"), ("lo", "w"), ("low", "</w>"), ("n", "e")]
    assert tok.tokenize("low lower") == ["low</w>", "low", "e", "r", "</w>"]


def test_word_bpe_splits_a_swallowed_piece_rather_than_calling_it_unknown():
    tok = WordBPE.train("king king sing", num_merges=3)
    assert tok.merges == [("i", "n"), ("in", "g"), ("ing", "</w>")]
    assert "in" not in tok.ids and "ing" not in tok.ids and "i" not in tok.ids
    assert tok.tokenize("sing zing") == ["s", "ing</w>", "</u>", "ing</w>"]
    tok = WordBPE.train("ink in", num_merges=1)
    tok = WordBPE([t for t in tok.tokens if t != "in"] + ["i", "n"], tok.merges)
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
    for word in dict.fromkeys(Playhouse(seed=2).text(20_000).split()):
        theirs = [t.replace(mark, END_OF_WORD) for t in rust.encode(word + mark).tokens]
        assert tok.pieces(word) == theirs


BYTES = ByteBPE.train(PLAY, vocab_size=500, special_tokens=("<|endoftext|>",))
RUST = BYTES.to_tiktoken()


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


@pytest.mark.parametrize(
    "text", ["a" * 50_000, "".join(random.Random(0).choices("etaoin", k=30_000))]
)
def test_a_chunk_without_a_space_takes_few_look_ups_a_byte_however_long_it_is(text):
    tok = ByteBPE([*BYTES.tokens, *(b"a" * 2**k for k in range(3, 9))])
    asked = 0

    def rank(left, right):
        nonlocal asked
        asked += 1
        return tok.ids.get(left + right)

    pieces = apply_merges([bytes([b]) for b in text.encode()], rank)
    assert asked < 4 * len(text)
    assert tok.encode(text) == [tok.ids[piece] for piece in pieces]
    assert tok.encode(text) == tok.to_tiktoken().encode_ordinary(text)


def test_byte_bpe_special_tokens_need_permission():
    end = BYTES.special_tokens["<|endoftext|>"]
    text = "One.<|endoftext|>Two."
    assert end == BYTES.vocab_size - 1 == 499
    assert end not in BYTES.encode(text)
    ids = BYTES.encode(text, allow_special=True)
    assert ids == RUST.encode(text, allowed_special="all") and ids.count(end) == 1
    assert BYTES.decode(ids) == text == BYTES.decode(BYTES.encode(text))
    tok = ByteBPE.train(text * 9, 300, ("<|endoftext|>",))
    assert not any(b"<|" in token for token in tok.tokens), "a special token was trained on"


def test_from_tiktoken_is_gpt2():
    try:
        tok = ByteBPE.from_tiktoken("gpt2")
    except OSError as error:
        pytest.skip(str(error))
    gpt2 = tiktoken.get_encoding("gpt2")
    text = "I HAD always thought Jack Gisburn rather a cheap genius 東京 🎭\n\n  <|endoftext|>"
    assert tok.vocab_size == 50_257
    assert tok.encode(text) == gpt2.encode_ordinary(text)
    assert tok.encode(text, allow_special=True) == gpt2.encode(text, allowed_special="all")
    assert tok.encode("I HAD always") == [40, 367, 2885, 1464]


def test_without_gpt2s_files_a_small_tokenizer_stands_in_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.fspath(tmp_path / "none"))
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    with pytest.raises(OSError, match="TIKTOKEN_CACHE_DIR") as caught:
        ByteBPE.from_tiktoken("gpt2")
    assert "SCRATCHFORMER_OFFLINE forbids downloads" in str(caught.value.__cause__)
    with pytest.warns(UserWarning, match="stands in"):
        tok = load_gpt2_tokenizer()
    assert tok.vocab_size == 1024 and tok.decode(tok.encode("naïve 🎭")) == "naïve 🎭"


@pytest.mark.parametrize(
    "tok",
    [CharTokenizer.train(PLAY), WordBPE.train(PLAY, 100), BYTES],
    ids=lambda tok: type(tok).__name__,
)
def test_a_saved_tokenizer_comes_back_the_same_and_refuses_what_it_cannot_read(tok, tmp_path):
    path = tmp_path / "tok.json"
    tok.save(path)
    again = type(tok).load(path)
    text = PLAY[:5_000]
    assert again.vocab_size == tok.vocab_size and again.encode(text) == tok.encode(text)
    assert json.loads(path.read_text())["tokenizer"] == type(tok).__name__
    assert [p.name for p in tmp_path.iterdir()] == ["tok.json"], "a leftover beside the file"
    other = WordBPE if not isinstance(tok, WordBPE) else ByteBPE
    with pytest.raises(ValueError, match=f"expected a {other.__name__}"):
        other.load(path)
    saved = json.loads(path.read_text())
    kinds = (5, [5], [["a"]], {"a": "€"}, "€\ud800")
    for key, other in product(saved.keys() - {"tokenizer"}, kinds):
        path.write_text(json.dumps(saved | {key: other}))
        with contextlib.suppress(ValueError):  # nothing else
            type(tok).load(path)
    path.write_text(json.dumps(saved | dict.fromkeys(saved.keys() - {"tokenizer"}, 5)))
    with pytest.raises(ValueError, match=r"tok\.json is damaged"):
        type(tok).load(path)
    path.write_text('{"tokenizer": ')
    with pytest.raises(ValueError, match="not a saved tokenizer"):
        type(tok).load(path)
    for bad in (-1, tok.vocab_size):
        with pytest.raises(ValueError, match=rf"id {bad} is outside the vocabulary of"):
            tok.decode([bad])


def test_char_tokenizer_names_the_unknown_character():
    tok = CharTokenizer.train("hello")
    assert tok.characters == "ehlo" and tok.encode("hole") == [1, 3, 2, 0]
    with pytest.raises(ValueError, match="'z' is not one of the 4 known characters"):
        tok.encode("zoo")


def test_what_makes_no_sense_is_refused(tmp_path):
    (tmp_path / "half.json").write_text('{"tokenizer": "ByteBPE"}')
    for make, words in (
        (lambda: WordBPE.train("a", num_merges=-1), "num_merges=-1"),
        (lambda: ByteBPE.train("a", 256, ("<|end|>",)), r"vocab_size=256 is less than 256 bytes"),
        (lambda: ByteBPE([b"a"]), "expected all 256"),
        (lambda: ByteBPE.train("a", 300, ("",)), "expected distinct, non-empty names"),
        (lambda: ByteBPE.train("a", 300, ("<a>", "<a>")), "expected distinct, non-empty names"),
        (lambda: ByteBPE.load(tmp_path / "half.json"), "'tokens' is missing"),
        (lambda: ByteBPE.from_tiktoken("cl100k_base"), "no tokenizer 'cl100k_base', expected one"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    assert ByteBPE.train("", vocab_size=300).vocab_size == 256  # nothing left to merge
    assert WordBPE.train("a", num_merges=9).merges == [("a", "</w>")]


def test_of_special_tokens_that_begin_alike_the_longest_counts():
    names = ("<|a|>", "<|a|>b|>")
    for order in (names, names[::-1]):
        tok = ByteBPE.train("ab<|a|>b|>ab" * 50, 300, order)
        assert not any(b"|" in token for token in tok.tokens if len(token) > 1)
        ids = tok.encode("ab<|a|>b|>ab", allow_special=True)
        assert tok.special_tokens["<|a|>b|>"] in ids and tok.special_tokens["<|a|>"] not in ids


def test_what_is_saved_is_utf8_and_any_pattern(tmp_path):
    tok = ByteBPE(BYTES.tokens, {"<naïve>": len(BYTES.tokens)}, pattern=r"\S+|\s+")
    tok.save(tmp_path / "tok.json")
    assert "naïve" in (tmp_path / "tok.json").read_bytes().decode("utf-8")
    assert ByteBPE.load(tmp_path / "tok.json").pattern == tok.pattern


def test_training_reads_lone_surrogates_as_encoding_does():
    assert "\ufffd".encode() in ByteBPE.train("\ud800 \ud800 \ud800", 259).tokens


def test_half_a_pair_of_utf16_is_refused_at_the_door_with_its_place():
    for make, words in (
        (lambda: CharTokenizer.train("na\udcefve"), "character 2 of the text is '\\\\udcef'"),
        (lambda: CharTokenizer("ab\ud83d"), "character 2 of the characters"),
        (lambda: WordBPE.train("caf\udce9 au lait", 3), "character 3 of the text"),
        (lambda: WordBPE(["</u>", "</p>", "\ud83d"], []), "character 0 of the token"),
        (lambda: ByteBPE.train("ab", 257, ("<\ud83d>",)), "character 1 of '<"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


def downloads(monkeypatch, answer):
    """What tiktoken asks the network for; `answer(url)` is what it gets."""
    asked = []
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(tiktoken.load, "read_file", lambda u: asked.append(u) or answer(u))
    return asked


def refuse(url):
    raise OSError("no network")


def test_the_files_looked_for_offline_are_those_that_tiktoken_asks_for(monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.fspath(tmp_path))
    monkeypatch.delenv("SCRATCHFORMER_OFFLINE", raising=False)
    checks = []
    monkeypatch.setattr(
        tiktoken.load, "check_hash", lambda data, sha256: checks.append((data, sha256)) or True
    )
    asked = downloads(monkeypatch, lambda url: url.encode())
    with contextlib.suppress(Exception):  # what it gets is no vocabulary
        tiktoken.get_encoding("gpt2")
    with contextlib.suppress(Exception):
        tiktoken.load.read_file_cached(asked[0], "")
    ours = {byte_bpe.STORE + file: sha256 for file, sha256 in byte_bpe.PUBLISHED["gpt2"]}
    assert asked and set(asked) <= set(ours)
    assert all(ours[data.decode()] == sha256 for data, sha256 in checks if sha256)
    names = {hashlib.sha1(url.encode()).hexdigest() for url in ours}
    assert {path.name for path in tmp_path.iterdir()} <= names


def test_offline_a_broken_copy_is_refused_and_neither_deleted_nor_fetched_again(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.fspath(tmp_path))
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    for file, _ in byte_bpe.PUBLISHED["gpt2"]:
        url = byte_bpe.STORE + file
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_text("half a file")
    asked = downloads(monkeypatch, refuse)
    with pytest.raises(OSError, match="TIKTOKEN_CACHE_DIR") as caught:
        ByteBPE.from_tiktoken("gpt2")
    assert "missing or broken" in str(caught.value.__cause__)
    assert not asked and len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("pattern", ["(a)|.", "(", "[" * 100_000])
def test_a_pattern_that_cuts_no_text_into_chunks_is_refused(pattern):
    tokens = [bytes([b]) for b in range(256)]
    with pytest.raises(ValueError, match=r"is no pattern|captures a group"):
        ByteBPE(tokens, pattern=pattern)
