"""The exercises of chapter 1, byte-pair encoding. Imports no torch."""

from itertools import pairwise

import regex

from scratchformer.tokenizers.patterns import GPT2_PATTERN as PATTERN
from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.compare import brief, difference, kind
from scratchformer_course.kit.checks.engine import Call, exercise
from scratchformer_course.kit.checks.mistakes import edits, mistake
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect


def right_count_pairs(words):
    counts = {}
    for word, n in words.items():
        for pair in pairwise(word):
            counts[pair] = counts.get(pair, 0) + n  # the word occurs n times
    return counts


def judge_count_pairs(call):
    praise = count_pairs.compare(call)
    words = {("n", "e", "w"): 2, ("l", "o", "w"): 5, ("e", "w"): 4}
    pairs, expected = list(call(words).like({("a", "b"): 1})), list(right_count_pairs(words))
    order = f"`{brief(pairs)}` instead of `{brief(expected)}`"
    expect(pairs == expected, f"The counts are right, but keep the order of first sight: {order}.")
    return praise


def _counted_words(draw):
    words = ("".join(draw.choices("abc", k=draw.size(0, 6, 40))) for _ in range(4))
    return ({tuple(word): draw.randint(1, 9) for word in words},)


count_pairs = exercise(
    "1.1",
    "count_pairs(words: {a word in pieces: occurrences}) -> {pair of neighbours: occurrences}",
    cases=(
        {("l", "o", "w"): 2, ("n", "e", "w"): 3},
        {("lo", "w", "er"): 2, ("a",): 4},
        {(b"\xc3", b"\xa9", b"t"): 2, (b"t",): 1},
        {},
    ),
    judge=judge_count_pairs,
    more=drawn(10, _counted_words),
    right=[right_count_pairs],
    hints=[
        "How many pairs are there in a word of five pieces, and what does each of them add to the "
        "counts if the word occurs three times?",
        "For each `word, n` in `words.items()`, go through `pairwise(word)` and add `n` to the "
        "count of the pair, which may not be there yet.",
    ],
    question=number(
        'The word ("b", "a", "n", "a", "n", "a") occurs 4 times and ("n", "a", "n") 5 times. What '
        'does `count_pairs` count for the pair ("a", "n")?',
        lambda f: f({tuple("banana"): 4, tuple("nan"): 5})["a", "n"],
        digits=0,
    ),
    mistakes={
        "+ n -> + 1": "A word seen 3 times adds 3 to its pairs, not 1",
        "pairwise(word) -> set(pairwise(word))": "A pair that occurs twice in a word counts "
        "twice, even where the two overlap",
        "counts.get(pair, 0) + n -> n": "The count of a later word replaces the earlier one: "
        "add it",
        "counts.get(pair, 0) -> counts[pair]": "A pair seen for the first time has no count "
        "yet: start it at 0",
    },
)


def right_merge_pair(word, pair):
    merged, i = [], 0
    while i < len(word):
        if word[i : i + 2] == pair:
            merged.append(word[i] + word[i + 1])
            i += 2  # both pieces are used up
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


def _word_and_pair(draw):
    pieces = draw.choice(["ab", ["a", "ab", "b"], ["a", "aa"], [b"a", b"aa"]])
    return tuple(draw.choices(pieces, k=draw.size(0, 9, 60))), tuple(draw.choices(pieces, k=2))


merge_pair = exercise(
    "1.2",
    "merge_pair(word: pieces, pair: two pieces) -> pieces, `str` or `bytes`, in a tuple",
    cases=(
        (("l", "o", "w"), ("l", "o")),
        (("xab", "c"), ("ab", "c")),
        (("a", ".", "b", "*"), (".", "*")),
        ((" ", "t", " ", " t", "he"), (" ", "t")),
    ),
    more=drawn(24, _word_and_pair),
    right=[right_merge_pair],
    hints=[
        "Where do you look next after a pair that was joined, and where after a piece that was "
        "not?",
        "`while i < len(word)`: if `word[i : i + 2] == pair`, append `word[i] + word[i + 1]` and "
        "step over both, else append `word[i]` and step over ...",
    ],
    question=number(
        'The word is ("a", "a", "a", "a", "b", "a", "a") and the pair ("a", "a"). How many '
        "pieces are left after the merge?",
        lambda f: len(f(tuple("aaaabaa"), ("a", "a"))),
        digits=0,
    ),
    mistakes=[
        *edits(
            right_merge_pair,
            {
                "i += 2 -> return tuple(merged) + word[i + 2 :]": "Only the first occurrence is "
                "joined: join every occurrence",
                "if word -> if i < len(word) - 2 and word": "A pair at the end of the word is not "
                "joined",
                "i += 2 -> i += 1": "The pair's second piece stays behind: step over both pieces",
            },
        ),
        mistake(
            "replaces text instead of pieces",
            "The piece `xab` only ends in `ab`: compare whole pieces",
            lambda word, pair: tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split()),
        ),
    ],
)


def right_encode_chunk(chunk, ids):
    pieces = tuple(bytes([byte]) for byte in chunk)
    while True:
        pairs = [p for p in pairwise(pieces) if p[0] + p[1] in ids]
        if not pairs:
            return [ids[piece] for piece in pieces]
        first_learned = min(pairs, key=lambda p: ids[p[0] + p[1]])
        pieces = right_merge_pair(pieces, first_learned)


def cuts_out_the_longest_token(chunk, ids):
    if not chunk:
        return []
    size = max(n for n in range(1, len(chunk) + 1) if chunk[:n] in ids)
    return [ids[chunk[:size]], *cuts_out_the_longest_token(chunk[size:], ids)]


def _ids(*tokens):
    """Ids in the order of learning."""
    return {token.encode(): i for i, token in enumerate(tokens)}


def _chunk_and_ids(draw):
    """Tokens that were learned from pairs of earlier ones."""
    if draw.is_large:  # as many merges as the alphabet has letters, each at two places
        letters = "abcdefghijklmnopqrstuvwxyz"
        return (2 * letters).encode(), _ids(*letters, *(letters[:n] for n in range(2, 27)))
    tokens = draw.sample("abc", 3)
    for _ in range(draw.randint(1, 6)):
        tokens.append("".join(draw.choices(tokens, k=2)))
    chunk = "".join(draw.choices("abc", k=draw.randint(1, 9)))
    return chunk.encode(), _ids(*dict.fromkeys(tokens))


BYTES = {bytes([byte]): 255 - byte for byte in range(256)}

encode_chunk = exercise(
    "1.3",
    "encode_chunk(chunk: bytes, ids: {token: id}) -> the chunk's ids, lowest id merged first",
    cases=(
        (b"low", _ids(*"wol", "lo", "low")),
        (b"xabcd", _ids(*"xabcd", "cd", "xa", "bc", "ab", "xabcd")),
        (b"abc", {b"bc": 40, b"a": 12, b"ab": 13, b"c": 7, b"b": 11}),  # in no order, with gaps
        ("🎭él".encode(), BYTES | {b"\xf0\x9f": 256, b"\xa9l": 257}),  # no token for a character
        (b"\xff\xfe", BYTES),  # no text at all
    ),
    more=drawn(24, _chunk_and_ids),
    right=[right_encode_chunk],
    hints=[
        "Which pairs of neighbours make a token, and which of these tokens was learned first?",
        "`min(pairs, key=lambda pair: ids[pair[0] + pair[1]])` is the pair to merge. Do it again "
        "until `pairs` is ...",
    ],
    question=number(
        "The ids are `a` 1, `b` 2, `ab` 3, `bb` 4, `bba` 5, `bbba` 6. How many ids does "
        '`encode_chunk(b"bbbabbb", ids)` return?',
        lambda f: len(f(b"bbbabbb", _ids("", "a", "b", "ab", "bb", "bba", "bbba"))),
        digits=0,
    ),
    mistakes=[
        *edits(
            right_encode_chunk,
            {
                "min(pairs, key=lambda p: ids[p[0] + p[1]]) -> pairs[0]": "The leftmost pair is "
                "joined first: take the pair whose join has the lowest id",
                "not pairs: -> not pairs or len(pieces) < len(chunk):": "Only one pair is joined: "
                "go on until no pair of neighbours is in `ids`",
                "bytes([byte]) for -> byte for": "A loop over `bytes` gives numbers: the piece is "
                "`bytes([number])`",
            },
        ),
        mistake(
            "cuts out the longest token from left to right",
            "The longest token is cut out: join pairs instead, the lowest id first",
            cuts_out_the_longest_token,
        ),
    ],
)


class RightByteTokenizer:
    def __init__(self, tokens):
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.known = {}  # chunk -> its ids: most chunks come again

    def encode(self, text):
        ids = []
        for chunk in regex.findall(PATTERN, text):
            if chunk not in self.known:
                self.known[chunk] = right_encode_chunk(chunk.encode(), self.ids)
            ids += self.known[chunk]
        return ids

    def decode(self, ids):
        data = b"".join(self.tokens[i] for i in ids)
        return data.decode("utf-8", errors="replace")


# Some lie in a chunk of the pattern, others across two: each pattern that cuts elsewhere shows.
_MERGED = (
    *("lo", "low", " w", "y w", "ai", "é", " low", "'l", "'ll", "day", "  ", "er", "we", "\n\n"),
    *("fé", "\u0301", "e\u0301", "12", "34", "a1", "a_", " 2", "!!", " ?", "(l", "'L"),
)
_TOKENS = [bytes([b]) for b in reversed(range(256))] + [token.encode() for token in _MERGED]
_TEXTS = (
    *("low", "low lower", "I'll  wait, 3 days!\n", "day way", "🎭 שלום", ""),
    "naïve café e\u0301\r\n",  # the last é is two characters, and so is the line end
    *(" low  were \n", "(low) 12345 23 !! a1 a_ I'LL ?", "\tlow\xa0day\0   \n\n", "\ufeffLow  "),
    "low day " * 40,
)
_ANY = "A model may choose any bytes, also some that are no UTF-8: decode them"
_SHARED = (
    "A second tokenizer, with its tokens in another order, gets wrong ids. Either the two "
    "share something, which belongs in `self`, or pairs are not joined in the order of their ids."
)


def _methods(call, tokens):
    """The calls of the two methods of a tokenizer with these tokens."""
    tokenizer = call(list(tokens)).value
    if call.error is not None or tokenizer is None:
        call.like("")
    methods = [getattr(tokenizer, name, None) for name in ("encode", "decode")]
    what = f"`{brief(tokenizer)}` is {kind(tokenizer)}, but an object with `encode` and `decode`"
    expect(all(map(callable, methods)), f"{what} is expected.")
    return Call(methods[0], "encode", ["text"]), Call(methods[1], "decode", ["ids"])


def _judge_encode(ids, text, known):
    """Raise `Wrong` unless these are the text's ids; the diagnosis tells what they look like."""
    right, why = known.encode(text), ""
    decoded = known.decode(ids) if {*ids} <= {*range(len(known.tokens))} else ""
    if decoded == text and len(ids) < len(right):
        why = "A token reaches over two chunks: cut the text with `PATTERN` first.\n"
    elif ids == known.encode("".join(regex.findall(PATTERN, text)[:1])):
        why = "Only the first chunk is encoded: go on with the others.\n"
    elif decoded and decoded == "".join(text.split()):
        why = "The white space is lost: cut with `PATTERN`, which keeps every character.\n"
    expect(ids == right, f"{why}`encode({text!r})` {difference(ids, right)}.")


def judge_byte_tokenizer(call):
    known, (encode, decode) = RightByteTokenizer(_TOKENS), _methods(call, _TOKENS)
    for text in _TEXTS:
        _judge_encode(encode(text).like([0]), text, known)
    for text in _TEXTS:
        got = decode(known.encode(text)).like("text")
        parts = [known.tokens[i].decode(errors="replace") for i in known.encode(text)]
        why = "A character can be cut across two tokens: join the bytes first, then decode once"
        expect(got == text or got != "".join(parts), f"{why}.")
        expect(got == text, f"`decode` of the ids of `{text!r}` {difference(got, text)}.")
    for lost in (b"ok\xff", b"caf\xc3"):
        ids = [known.ids[bytes([byte])] for byte in lost]
        is_strict = isinstance(decode(ids).error, UnicodeDecodeError)
        expect(not is_strict, f"{_ANY} with `errors='replace'`.")
        got, right = decode.like("text"), known.decode(ids)
        expect(got == right, f"{_ANY}: `{decode}` returned `{got}`, expected `{right}`.")
    other = RightByteTokenizer(_TOKENS[::-1])
    another = _methods(call, other.tokens)
    for text in _TEXTS[:5]:
        for right, calls in ((other, another), (known, (encode, decode))):
            ids = right.encode(text)
            expect(calls[0](text).like([0]) == ids and calls[1](ids).like("") == text, _SHARED)
    return "`encode` and `decode` give the right answers for all texts, in any script."


ByteTokenizer = exercise(
    "1.4",
    "ByteTokenizer(tokens: list[bytes]), with encode(str) -> ids and decode(ids) -> str.",
    judge=judge_byte_tokenizer,
    right=[lambda tokens: RightByteTokenizer(tokens)],  # a function: the class is no nn.Module
    hints=[
        "The two bytes of an `é` may lie in two tokens. At which moment can they become text?",
        '`b"".join(self.tokens[i] for i in ids)` holds the bytes of all ids. `bytes.decode` turns '
        "them into text, and its argument `errors` says what becomes of ...",
    ],
    question=number(
        "A tokenizer has five tokens: a space 0, `a` 1, `b` 2, `b` with a space after it 3, and "
        'two spaces 4. How many ids does `encode("ab  ab")` return (two spaces in the middle)?',
        lambda f: len(f([b" ", b"a", b"b", b"b ", b"  "]).encode("ab  ab")),
        digits=0,
    ),
    mistakes=edits(
        RightByteTokenizer,
        {
            "regex.findall(PATTERN, text) -> [text]": "reaches over two chunks",
            "regex.findall(PATTERN, text) -> text.split()": "The white space is lost",
            "ids += self.known[chunk] -> return self.known[chunk]": "Only the first chunk",
            "ids += self.known[chunk] -> ids.append(self.known[chunk])": "is a list, but an int",
            'b"".join(self.tokens[i] for -> "".join(self.tokens[i].decode(errors="replace") for\n'
            'data.decode("utf-8", errors="replace") -> data': "A character can be cut across two",
            '"utf-8", errors="replace" -> ': "errors='replace'",
        },
        quoted=True,
    ),
)
