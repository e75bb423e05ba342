"""Checks for the exercises of chapter 1, byte-pair encoding. Imports no torch."""

from scratchformer.checks.engine import Call, Wrong, exercise, expect

PAST_END = "The loop looks past the last piece"


@exercise("1.1", "words")
def count_pairs(call: Call) -> None:
    """count_pairs(words: dict[tuple[str, ...], int]) -> dict[tuple[str, str], int]"""
    lo, ow, ne, ew = ("l", "o"), ("o", "w"), ("n", "e"), ("e", "w")
    call({("l", "o", "w"): 2, ("n", "e", "w"): 3}).gives(
        {lo: 2, ow: 2, ne: 3, ew: 3},
        ({lo: 1, ow: 1, ne: 1, ew: 1}, "A word seen 3 times adds 3 to its pairs, not 1"),
        ({lo: 2, ne: 3}, "The last pair of each word is missed: the loop stops one too early"),
        ({ow: 2, ew: 3}, "The first pair of each word is missed"),
        (
            {("o", "l"): 2, ("w", "o"): 2, ("e", "n"): 3, ("w", "e"): 3},
            "Each pair is reversed: the left piece comes first",
        ),
        ({lo: 2, ow: 2, ("e", "n"): 3, ew: 3}, "Pairs are sorted, but their order matters"),
        ({("l", "w"): 2, ("n", "w"): 3}, "A piece is paired with the next but one"),
        (
            {lo: 2, ow: 2, ("l", "w"): 2, ne: 3, ew: 3, ("n", "w"): 3},
            "Pieces that are not neighbours are paired too",
        ),
        (
            {lo: 2, ow: 2, ("w", "n"): 3, ne: 3, ew: 3},
            "The last piece of one word is paired with the first of the next",
        ),
        (IndexError, PAST_END),
        (KeyError, "A pair seen for the first time has no count yet: start it at 0"),
    )
    call({("l", "o", "w"): 5, ("l", "o"): 2}).gives(
        {lo: 7, ow: 5},
        ({lo: 2, ow: 5}, "The count of a later word replaces the earlier one: add it"),
        ({lo: 5, ow: 5}, "Only the first word with a pair is counted: add the later ones"),
    )
    ab, ba = ("a", "b"), ("b", "a")
    once = "A pair that occurs twice in a word counts twice"
    call({("a", "b", "a", "b"): 3}).gives(
        {ab: 6, ba: 3}, ({ab: 3, ba: 3}, once), ({ab: 9}, "Pairs are sorted, but order matters")
    )
    call({("a", "a", "a"): 1}).gives(
        {("a", "a"): 2}, ({("a", "a"): 1}, f"{once}, even where the two overlap")
    )
    call({("lo", "w", "</w>"): 2, ("a",): 4}).gives(
        {("lo", "w"): 2, ("w", "</w>"): 2},
        (IndexError, "A word of one piece has no pairs, and must not fail"),
    )


@exercise("1.2", "word, pair")
def merge_pair(call: Call) -> None:
    """merge_pair(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]"""
    call(("l", "o", "w"), ("l", "o")).gives(
        ("lo", "w"),
        (("l", "o", "w"), "The pair is there, but nothing is joined"),
        (("low",), "The whole word is joined, not only the pair"),
        (("lo",), "The pieces after the pair are lost"),
        (("lo", "o", "w"), "The pair's second piece stays behind: step over both pieces"),
        (IndexError, PAST_END),
    )
    call(("n", "e", "w"), ("e", "w")).gives(
        ("n", "ew"),
        (("n", "e", "w"), "A pair at the end of the word is not joined"),
        (("n", "ew", "w"), "The last piece appears again after a pair at the end"),
        (("n",), "A pair at the end of the word is lost"),
        (("ew",), "The pieces before the pair are lost"),
    )
    call(("a", "b", "x", "a", "b"), ("a", "b")).gives(
        ("ab", "x", "ab"),
        (("ab", "x", "a", "b"), "Only the first occurrence is joined: join every occurrence"),
        (("a", "b", "x", "ab"), "Only the last occurrence is joined: join every occurrence"),
    )
    call(("a", "a", "a"), ("a", "a")).gives(
        ("aa", "a"),
        (("a", "aa"), "Occurrences are joined from the right: go from left to right"),
        (("aa", "aa"), "One piece is used in two joins: after a join, step over both pieces"),
        (("aaa",), "A joined piece is joined again: one pass only"),
        (IndexError, PAST_END),
    )
    letters = "Whole pieces are compared, not letters: `ab` + `c` is another pair than `a` + `bc`"
    call(("a", "bc", "ab", "c"), ("ab", "c")).gives(
        ("a", "bc", "abc"), (("abc", "abc"), letters), (("a", "bc", "ab", "c"), letters)
    )
    call(("xab", "c"), ("ab", "c")).gives(
        ("xab", "c"), (("xabc",), "The piece `xab` only ends in `ab`: compare whole pieces")
    )
    call(("ab", "cx"), ("ab", "c")).gives(
        ("ab", "cx"), (("abcx",), "The piece `cx` only begins with `c`: compare whole pieces")
    )
    swapped = "The pair's order matters: `b`, `a` is not `a`, `b`"
    call(("b", "a"), ("a", "b")).gives(("b", "a"), (("ba",), swapped), (("ab",), swapped))
    call(("a",), ("a", "b")).gives(("a",), (IndexError, "A word of one piece must not fail"))


@exercise("1.3", "word, merges")
def encode_word(call: Call) -> None:
    """encode_word(word: str, merges: list[tuple[str, str]]) -> list[str]"""
    end = "</w>"
    unknown = "Characters that no merge knows are dropped: they stay as they are"
    call("low", []).gives(
        ["l", "o", "w", end],
        (["l", "o", "w"], "The end of the word is missing: the piece `</w>` comes last"),
        (["l", "o", "w</w>"], "`</w>` starts as a piece of its own, not on the last character"),
        ([*"low</w>"], "`</w>` is one piece, not four characters"),
        ([end], unknown),
        ([], unknown),
    )
    call("low", [("l", "o"), ("lo", "w")]).gives(
        ["low", end],
        (["lo", "w", end], "The merges are not applied in the order they were learned"),
        (["l", "o", "w", end], "No merge is applied"),
    )
    call("abc", [("b", "c"), ("a", "b"), ("a", "bc")]).gives(
        ["abc", end],
        (
            ["ab", "c", end],
            "The leftmost pair is merged first: take the pair that was learned first",
        ),
    )
    longest = "The longest known token is cut out, but the merges alone decide: no merge reaches it"
    call("abc", [("b", "c"), ("a", "b"), ("ab", "c")]).gives(
        ["a", "bc", end], (["abc", end], longest)
    )
    call("abcd", [("a", "b"), ("c", "d"), ("b", "c"), ("bc", "d")]).gives(
        ["ab", "cd", end], (["a", "bcd", end], longest)
    )
    call("aaa", [("a", "a")]).gives(
        ["aa", "a", end],
        (["a", "aa", end], "Occurrences are joined from the right: go from left to right"),
    )
    call("abab", [("a", "b")]).gives(
        ["ab", "ab", end],
        (["ab", "a", "b", end], "A merge is applied once only: join every place where it fits"),
    )
    call("low", [("l", "o"), ("w", end), ("lo", "w</w>")]).gives(
        ["low</w>"], (["lo", "w", end], "Merges with `</w>` are not applied")
    )
    call("zap", [("a", "p")]).gives(["z", "ap", end], (["ap", end], unknown))


@exercise("1.5", "tokenizer")
def costly_text(call: Call, tokenizer: object) -> str:
    """costly_text(tokenizer) -> str of 1–20 characters with more tokens than characters."""
    text = call(tokenizer).like("text", "Return the text itself: the check encodes it.")
    expect(text, "The text is empty: 0 characters, 0 tokens.")
    expect(len(text) <= 20, f"The text has {len(text)} characters, but 20 are the most allowed.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Wrong("A lone surrogate is half a character: no file can hold it as UTF-8.")
    tokens = len(tokenizer.encode(text))
    figures = f"{len(text)} character{'s' * (len(text) > 1)}, {tokens} tokens"
    if tokens > len(text):
        return f"{figures}: most of these bytes were never merged."
    if text.isascii():
        raise Wrong(f"{figures}. Each of these characters is one byte, so one token at most.")
    raise Wrong(f"{figures}. More tokens than characters are needed: which bytes are rare?")


@exercise("1.4", "tokens")
def decode_tokens(call: Call) -> None:
    """decode_tokens(tokens: list[bytes]) -> str"""
    strict = "A model may choose any bytes, so decode with `errors='replace'`"
    cut = "A character can be cut across two tokens: join the bytes first, then decode once"
    call([b"low", b"er"]).gives(
        "lower",
        ("low er", "A space is put between the tokens: join them with nothing between"),
        ("b'lower'", "`str(…)` of bytes shows them as code: use `.decode`"),
        ("b'low'b'er'", "`str(…)` of bytes shows them as code: use `.decode`"),
        (b"lower".decode("utf-16", "replace"), "The bytes are UTF-8, not UTF-16"),
        (UnicodeDecodeError, "The bytes are UTF-8, not UTF-16"),
    )
    call([b"caf\xc3\xa9"]).gives(
        "café",
        ("cafÃ©", "The bytes are UTF-8, not Latin-1: `é` is two bytes"),
        ("caf\ufffd\ufffd", "The bytes are UTF-8, not ASCII: `é` is two bytes"),
        ("caf", "The bytes are UTF-8, not ASCII: `é` is two bytes"),
        (UnicodeDecodeError, "The bytes are UTF-8, not ASCII: `é` is two bytes"),
    )
    call([b"caf\xc3", b"\xa9"]).gives(
        "café", ("caf\ufffd\ufffd", cut), ("caf", cut), (UnicodeDecodeError, cut)
    )
    call([b"\xef\xbb\xbfok"]).gives(
        "\ufeffok", ("ok", "The first character vanishes: decode as `utf-8`, not `utf-8-sig`")
    )
    call([b"ok", b"\xff", b"a"]).gives(
        "ok\ufffda",
        ("oka", f"Bytes that are no UTF-8 vanish without a trace. {strict}"),
        ("ok\\xffa", strict),
        (UnicodeDecodeError, strict),
    )
    call([]).gives("")
