"""The figure of merges: after each step its pieces are those of ByteBPE, whatever the text."""

import itertools
import random
import unicodedata

import pytest

from scratchformer.data import Playhouse
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch01_bpe.live import merges
from tests.node import Node

in_node = Node("page_model/tokenizer.js", M="ch01_bpe/live.js")
READ = "const chunks = (text) => M.read(M.load(input.settings), text);"
IDS = "const ids = (chunks, n) => chunks.flatMap((c) => M.piecesAt(c, n)).map((p) => p.id);"
# characters that meet in patterns, or are no letters alone, and pieces that the plays are full of
HARD = [*"  \n\t'\"", *"  \r\x00\x1c\x85\u00a0\u2003\u200d\ufeff\ufffd\u0301½٣é語🎭👩🚀🇫🇷"]
PIECES = [*HARD, "\ud83c", "\udfad", "'ll", "'s", "the", "king", "ing", " the", "ha", "er", "12"]


@pytest.fixture(scope="module")
def tokenizer():
    return ByteBPE.train(Playhouse().text(60_000) + "naïve café, naïve café 🎭🎭 " * 40, 700)


def settings_of(tokenizer):
    return merges(tokenizer.tokens, tokenizer.pattern, "a", [97]).settings


def characters(draw, count):
    """Characters that are known to Python's tables of Unicode, lone surrogates included."""
    codes = (draw.randrange(draw.choice((0x3000, 0x110000))) for _ in range(count))
    return [chr(i) for i in codes if unicodedata.category(chr(i)) not in ("Cn", "Co")]


def texts(draw, count):
    letters = characters(draw, 500)
    yield "".join(letters)
    for _ in range(count):
        parts = (draw.choice(PIECES if draw.random() < 0.8 else letters) for _ in range(30))
        yield "".join(itertools.islice(parts, draw.randint(0, 30)))


def test_step_n_is_the_tokenizer_that_learned_n_merges(tokenizer):
    steps = [0, 1, 2, 5, 17, 40, 100, 200, 300, 443, 444]
    samples = [*texts(random.Random(3), 200), "the king " * 200]
    body = f"""{READ}{IDS} return input.texts.map((text) => {{
      const read = chunks(text); return input.steps.map((n) => ids(read, n)); }});"""
    after_steps = in_node(body, settings=settings_of(tokenizer), texts=samples, steps=steps)
    for n, *ids in zip(steps, *after_steps, strict=True):
        assert ids == [ByteBPE(tokenizer.tokens[: 256 + n]).encode(text) for text in samples], n


def test_a_merge_out_of_order_and_a_token_without_merges_are_as_in_python():
    """By hand: `bc` makes room for `abc`, learned before it; nothing leads to `xyz`."""
    tokens = [*(bytes([b]) for b in range(256)), b"abc", b"xyz", b"bc"]
    tokenizer = ByteBPE(tokens)
    inputs = {"settings": settings_of(tokenizer), "texts": ["abc", "abcd", "xyz", "xyzz"]}
    body = f"""{READ}{IDS} return {{
      stages: input.texts.map((text) => [0, 1, 2, 3].map((n) => ids(chunks(text), n))),
      rows: ["xyz", "abcd"].map((text) => M.summary(chunks(text))) }};"""
    shown = in_node(body, **inputs)
    for text, stages in zip(inputs["texts"], shown["stages"], strict=True):
        assert stages == [ByteBPE(tokens[: 256 + n]).encode(text) for n in range(4)], text
    (last,), (first, second) = shown["rows"]
    assert last["from"] == [120, 121, 122] and last["left"] == 1
    assert (first["step"], first["id"], second["step"], second["id"]) == (3, 258, 3, 256)
