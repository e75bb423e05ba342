"""The figure of merges: after each step its pieces are those of ByteBPE, whatever the text."""

import json
import random
import re
import shutil
import subprocess
import unicodedata
from html import unescape
from pathlib import Path

import pytest
import regex

from scratchformer.data import Playhouse
from scratchformer.tokenizers import ByteBPE
from scratchformer.tokenizers.byte_bpe import GPT2_PATTERN
from scratchformer_course.ch01_bpe.live import FILES, LARGEST, MOST_CHARACTERS, label, merges

PACKAGE = Path(__file__).resolve().parents[2] / "scratchformer_course"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on the PATH: merges.js was not run")
PROGRAM = """
global.scratchformerLive = require(%(page)s);
global.scratchformerTokenizer = require(%(tokenizer)s);
const M = require(%(merges)s), input = JSON.parse(require("fs").readFileSync(0, "utf8"));
const tokenizer = input.settings && M.load(input.settings);
process.stdout.write(JSON.stringify((() => { %(body)s })()));
"""
IDS = "const ids = (chunks, n) => chunks.flatMap((c) => M.piecesAt(c, n)).map((p) => p.id);"
# characters that meet in patterns, or are no letters alone, and pieces that the plays are full of
HARD = [*"  \n\t'\"", *"  \r\x00\x1c\x85\u00a0\u2003\u200d\ufeff\ufffd\u0301½٣é語🎭👩🚀🇫🇷"]
PIECES = [*HARD, "\ud83c", "\udfad", "'ll", "'s", "the", "king", "ing", " the", "ha", "er", "12"]


def in_node(body, **given):
    """What the JavaScript `body` returns; `M`, `tokenizer` and `input.…` are there for it."""
    files = {"page": "kit/figure/live_figure.js", "tokenizer": FILES[1], "merges": FILES[2]}
    paths = {name: json.dumps(str(PACKAGE / file)) for name, file in files.items()}
    done = subprocess.run(
        [NODE, "-e", PROGRAM % {"body": body, **paths}],
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


@needs_node
def test_the_last_step_is_encode_for_any_text(tok):
    some = [*texts(1, 1500), characters(random.Random(2), 1500), "the king " * 200]
    body = f"{IDS} return input.texts.map((text) => ids(M.read(tokenizer, text), Infinity));"
    for text, ids in zip(some, in_node(body, settings=settings_of(tok), texts=some), strict=True):
        assert ids == tok.encode(text), text.encode("utf-8", "surrogatepass")


@needs_node
def test_step_n_is_the_tokenizer_that_learned_n_merges(tok):
    steps = [0, 1, 2, 5, 17, 40, 100, 200, 300, 443, 444]
    some = [*texts(3, 150), "The king's naïve fool laughs: ha, ha! 🎭"]
    body = f"""{IDS} return input.texts.map((text) => {{
      const chunks = M.read(tokenizer, text); return input.steps.map((n) => ids(chunks, n)); }});"""
    found = in_node(body, settings=settings_of(tok), texts=some, steps=steps)
    for n, *ids in zip(steps, *found, strict=True):
        assert ids == [ByteBPE(tok.tokens[: 256 + n]).encode(text) for text in some], n


def counted(tok, text):
    """The summary by another way: encode with every tokenizer from none to all merges."""
    lengths = [
        len(ByteBPE(tok.tokens[: 256 + n]).encode(text)) for n in range(len(tok.tokens) - 255)
    ]
    return {n: length for n, length in enumerate(lengths) if n and length < lengths[n - 1]}


@needs_node
def test_the_table_counts_every_merge_of_the_text_once(tok):
    for text in ["the king and the queen", "ha, ha! naïve 🎭\n", *texts(5, 3)]:
        rows = in_node(
            "return M.summary(M.read(tokenizer, input.text));", settings=settings_of(tok), text=text
        )
        assert {row["step"]: row["left"] for row in rows} == counted(tok, text)
        left = len(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
        for row in rows:
            parts = b"".join(tok.tokens[i] for i in row["from"])
            assert parts == tok.tokens[row["id"]] and row["step"] >= row["id"] - 255
            left -= row["times"] * (len(row["from"]) - 1)
            assert row["left"] == left


@needs_node
def test_a_tree_joins_two_pieces_at_a_time_down_to_bytes(tok):
    def check(piece):
        bytes_ = piece["bytes"].encode("latin-1")
        assert tok.tokens[piece["id"]] == bytes_
        if len(bytes_) == 1:
            return bytes_
        assert len(piece["from"]) == 2
        assert all(part["step"] <= piece["step"] for part in piece["from"])
        return b"".join(map(check, piece["from"]))

    text = "the king and the queen, a naïve café"
    body = "return M.read(tokenizer, input.text).flatMap((c) => M.piecesAt(c, Infinity));"
    pieces = in_node(body, settings=settings_of(tok), text=text)
    assert b"".join(map(check, pieces)) == text.encode()


@needs_node
def test_a_merge_out_of_order_and_a_token_without_merges_are_as_in_python():
    """By hand: `bc` makes room for `abc`, learned before it; nothing leads to `xyz`."""
    tokens = [*(bytes([b]) for b in range(256)), b"abc", b"xyz", b"bc"]
    tok = ByteBPE(tokens)
    given = {"settings": settings_of(tok), "texts": ["abc", "abcd", "xyz", "xyzz"]}
    body = f"""{IDS} return input.texts.map((text) => {{ const chunks = M.read(tokenizer, text);
      return [0, 1, 2, 3].map((n) => ids(chunks, n)); }});"""
    for text, stages in zip(given["texts"], in_node(body, **given), strict=True):
        assert stages == [ByteBPE(tokens[: 256 + n]).encode(text) for n in range(4)], text
    (last,) = in_node("return M.summary(M.read(tokenizer, 'xyz'));", settings=given["settings"])
    assert last["from"] == [120, 121, 122] and last["left"] == 1
    first, second = in_node(
        "return M.summary(M.read(tokenizer, 'abcd'));", settings=given["settings"]
    )
    assert (first["step"], first["id"], second["step"], second["id"]) == (3, 258, 3, 256)


@needs_node
def test_a_token_is_written_alike_in_both_languages(tok):
    some = [
        *tok.tokens,
        "\ufeff".encode(),
        "é".encode(),
        "\u00a0".encode(),
        "\u200d".encode(),
        "🎭 語".encode(),
    ]
    given = [token.decode("latin-1") for token in some]
    assert in_node("return input.tokens.map(M.label);", tokens=given) == [
        label(token).replace(" ", "·") for token in some
    ]
    assert label(b"a\n\t") == "a⏎⇥" and label(b"\xc3") == "<195>" and label(b"\x00a") == "<0><97>"


# ---- Python ----


def test_the_stored_form_is_small_and_its_numbers_are_the_tokenizers(tok, monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_LIVE", "stored")
    text = "The king's naïve fool: <b>\"&'"
    html = merges(tok.tokens, tok.pattern, text, tok.encode(text))._repr_html_()
    assert len(html) < LARGEST and "<script" not in html and "live where JavaScript runs" in html
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', html)[1]))
    assert [piece.encode("latin-1") for piece in settings["merged"]] == tok.tokens[256:]
    assert (settings["text"], settings["pattern"]) == (text, GPT2_PATTERN)
    shown = re.findall(r">(\d+)</text>", html)
    assert shown == [str(i) for i in tok.encode(text)]
    assert f"{len(text.encode())} bytes, {len(shown)} tokens after 444 merges" in html


def test_a_lone_surrogate_becomes_the_replacement_character(tok):
    figure = merges(tok.tokens, tok.pattern, "a\ud83c", tok.encode("a\ud83c"))
    assert figure.settings["text"] == "a\ufffd"
    assert (
        merges(tok.tokens, tok.pattern, "\ud83c\udfad", tok.encode("🎭")).settings["text"] == "🎭"
    )


@pytest.mark.usefixtures("plain_signatures")
def test_what_cannot_be_shown_is_told(tok):
    bytes_ = tok.tokens[:256]
    for tokens, text, ids, said in [
        (tok.tokens, "", [], "a text of 0 characters, expected 1 to 2,000"),
        (tok.tokens, "a" * (MOST_CHARACTERS + 1), [97] * 2001, "a text of 2001 characters"),
        (tok.tokens, "a\r\nb", [97, 13, 10, 98], "carriage return"),
        (tok.tokens, "ab", [97], "do not spell the text 'ab'"),
        (tok.tokens, "a", [-159], "do not spell"),
        (tok.tokens, "a", [5000], "do not spell"),
        (bytes_, "a", [97], "got 256 tokens"),
        (bytes_[::-1], "a", [158], r"token 0 is b'\\xff', expected the 256 bytes in order"),
        ([*tok.tokens, b"a"], "a", [97], "token 700 is b'a'"),
        ([*tok.tokens, tok.tokens[256]], "a", [97], "701 tokens, 700 of them different"),
        ([*bytes_, *(b"%06d" % i for i in range(4000))], "a", [97], "give fewer tokens"),
    ]:
        with pytest.raises(ValueError, match=said):
            merges(tokens, GPT2_PATTERN, text, ids)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d+|\D+",
        r"\w+|\W+",
        r"\b.+?\b",
        ".+",
        r"[\d]+|[^\d]+",
        "(a)|[^a]",
        "(?i:a)|[^a]",
        "[^a]++|a",
    ]
    + [
        "[[:alpha:]]+|[^a]",
        r"[^\\s]+|\\",
        r"\h",
        r"[^\s]+$|\s+",
        "(?>a)|[^a]",
        r"\p{Han}|\P{Han}",
    ]
    + [r"\X", "", "(?s:.)", "[]a]|[^]a]", r"\x61|[^a]", "[^a]{,3}|a"],
)
@pytest.mark.usefixtures("plain_signatures")
def test_a_pattern_that_javascript_reads_otherwise_is_refused(tok, pattern):
    with pytest.raises(ValueError, match="which Python and JavaScript may read in two ways"):
        merges(tok.tokens, pattern, "a", [97])


@pytest.mark.parametrize("pattern", ["(", "[a", r"\p{Nothing}", "*a"])
@pytest.mark.usefixtures("plain_signatures")
def test_a_pattern_that_does_not_compile_is_refused(tok, pattern):
    with pytest.raises(ValueError, match="cannot be read: "):
        merges(tok.tokens, pattern, "a", [97])


@needs_node
@pytest.mark.parametrize(
    "pattern",
    [
        GPT2_PATTERN,
        r"\s|\S",
        r"[^\s]+|\s{1,3}",
        r"\p{Lu}?[^\S\n]|\n|[\p{L}'-]+?|(?!\p{L})\S",
        "a|[^a]",
    ],
)
def test_a_pattern_that_is_accepted_cuts_alike_in_both_languages(tok, pattern):
    merges(tok.tokens, pattern, "a", [97])
    settings = settings_of(tok) | {"pattern": pattern}
    some = [
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts(3, 200)
    ]
    body = """const tokenizer = M.load(input.settings);
      return input.texts.map((text) => M.read(tokenizer, text).map((c) => c.chunk));"""
    cut = in_node(body, settings=settings, texts=some)
    assert cut == [
        [c.encode().decode("latin-1") for c in regex.findall(pattern, text)] for text in some
    ]


def test_ids_are_those_of_merging(tok):
    for given in texts(5, 100):
        text = given.replace("\r", "") or "a"
        merges(tok.tokens, tok.pattern, text, tok.encode(text))
    for ids in ([*b"the"], [*tok.encode("th"), *b"e"]):
        with pytest.raises(ValueError, match=r"expected those of merging: \["):
            merges(tok.tokens, tok.pattern, "the", ids)
