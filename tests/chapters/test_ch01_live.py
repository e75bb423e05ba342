"""The figure of merges: after each step its pieces are those of ByteBPE, whatever the text."""

import random
import unicodedata

import pytest

from scratchformer.data import Playhouse
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch01_bpe.live import label, merges
from tests.node import Node

in_node = Node("page_model/tokenizer.js", M="ch01_bpe/live.js")
READ = "const chunks = (text) => M.read(M.load(input.settings), text);"
IDS = "const ids = (chunks, n) => chunks.flatMap((c) => M.piecesAt(c, n)).map((p) => p.id);"
# characters that meet in patterns, or are no letters alone, and pieces that the plays are full of
HARD = [*"  \n\t'\"", *"  \r\x00\x1c\x85\u00a0\u2003\u200d\ufeff\ufffd\u0301½٣é語🎭👩🚀🇫🇷"]
PIECES = [*HARD, "\ud83c", "\udfad", "'ll", "'s", "the", "king", "ing", " the", "ha", "er", "12"]


@pytest.fixture(scope="module")
def tok():
    return ByteBPE.train(Playhouse().text(60_000) + "naïve café, naïve café 🎭🎭 " * 40, 700)


def settings_of(tok):
    return merges(tok.tokens, tok.pattern, "a", [97]).settings


def characters(rng, size):
    """Any characters of Unicode that have a name in Python, lone surrogates included."""
    found = []
    while len(found) < size:
        c = chr(rng.randrange(0x110000) if rng.random() < 0.5 else rng.randrange(0x3000))
        if unicodedata.category(c) not in ("Cn", "Co"):
            found.append(c)
    return "".join(found)


def texts(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(
            characters(rng, 1) if rng.random() < 0.2 else rng.choice(PIECES)
            for _ in range(rng.randint(0, 30))
        )


def test_step_n_is_the_tokenizer_that_learned_n_merges(tok):
    steps = [0, 1, 2, 5, 17, 40, 100, 200, 300, 443, 444]
    some = [*texts(3, 200), characters(random.Random(2), 500), "the king " * 200]
    body = f"""{READ}{IDS} return input.texts.map((text) => {{
      const own = chunks(text); return input.steps.map((n) => ids(own, n)); }});"""
    found = in_node(body, settings=settings_of(tok), texts=some, steps=steps)
    for n, *ids in zip(steps, *found, strict=True):
        assert ids == [ByteBPE(tok.tokens[: 256 + n]).encode(text) for text in some], n


def test_a_merge_out_of_order_and_a_token_without_merges_are_as_in_python():
    """By hand: `bc` makes room for `abc`, learned before it; nothing leads to `xyz`."""
    tokens = [*(bytes([b]) for b in range(256)), b"abc", b"xyz", b"bc"]
    tok = ByteBPE(tokens)
    given = {"settings": settings_of(tok), "texts": ["abc", "abcd", "xyz", "xyzz"]}
    body = f"""{READ}{IDS} return {{
      stages: input.texts.map((text) => [0, 1, 2, 3].map((n) => ids(chunks(text), n))),
      rows: ["xyz", "abcd"].map((text) => M.summary(chunks(text))) }};"""
    found = in_node(body, **given)
    for text, stages in zip(given["texts"], found["stages"], strict=True):
        assert stages == [ByteBPE(tokens[: 256 + n]).encode(text) for n in range(4)], text
    (last,), (first, second) = found["rows"]
    assert last["from"] == [120, 121, 122] and last["left"] == 1
    assert (first["step"], first["id"], second["step"], second["id"]) == (3, 258, 3, 256)


def test_a_token_is_written_alike_in_both_languages(tok):
    some = [*tok.tokens, *(text.encode() for text in ("\ufeff", "é", "\u00a0", "\u200d", "🎭 語"))]
    given = [token.decode("latin-1") for token in some]
    assert in_node("return input.tokens.map(M.label);", tokens=given) == [
        label(token).replace(" ", "·") for token in some
    ]
    assert label(b"a\n\t") == "a⏎⇥" and label(b"\xc3") == "<195>" and label(b"\x00a") == "<0><97>"
