"""The exercises of chapter 1, byte-pair encoding. Imports no torch."""

import codecs
from collections import Counter
from itertools import pairwise

import regex

from scratchformer.tokenizers.patterns import GPT2_PATTERN
from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.compare import brief, difference, kind, same
from scratchformer_course.kit.checks.engine import Call, exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong, expect

# what the notebook has imported or made before an exercise, for those who write it in the page
IN_NOTEBOOK = {
    "Counter": Counter,
    "pairwise": pairwise,
    "regex": regex,
    "PATTERN": GPT2_PATTERN,
}


def _counted(words, pairs, weight=lambda count: count):
    """Counts of the pairs that `pairs(word)` gives, each as often as `weight(count)` says."""
    counts: Counter = Counter()
    for word, count in words.items():
        for pair in pairs(word):
            counts[pair] += weight(count)
    return dict(counts)


def right_count_pairs(words):
    counts: dict = {}
    for word, count in words.items():
        for i in range(len(word) - 1):
            pair = (word[i], word[i + 1])
            counts[pair] = counts.get(pair, 0) + count
    return counts


def adds_to_a_count(words):
    counts: dict = {}
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def judge_count_pairs(call):
    praise = count_pairs.compare(call)
    words = {("n", "e", "w"): 2, ("l", "o", "w"): 5, ("e", "w"): 4}
    expected = list(right_count_pairs(words))
    pairs = list(call(words).like({("a", "b"): 1}))
    order = f"`{brief(expected[0])}` is seen first, but `{brief(pairs[0])}` comes first"
    if pairs != expected:
        order = order if pairs[0] != expected[0] else f"`{brief(pairs)}` is in another order"
        raise Wrong(f"The counts are right, but keep the order of first sight: {order}.")
    return praise


def _counted_words(draw):
    words = ("".join(draw.choices("abc", k=draw.randint(0, 6))) for _ in range(4))
    return ({tuple(word): draw.randint(1, 9) for word in words},)


count_pairs = exercise(
    "1.1",
    "count_pairs(words: {a word in pieces: occurrences}) -> {pair of neighbours: occurrences}",
    cases=(
        {("l", "o", "w"): 2, ("n", "e", "w"): 3},
        {("l", "o", "w"): 5, ("l", "o"): 2},
        {("a", "b", "a", "b"): 3},
        {("a", "a", "a"): 1},
        {("lo", "w", "er"): 2, ("a",): 4},
        {(b"\xc3", b"\xa9", b"t"): 2, (b"t",): 1},
        {("a", "b", "a", "c", "b", "a"): 1000, ("A", "b"): 20, ("b", "a"): 3, ("c", "a", "a"): 1},
        {("t",): 5},
        {},
        {(" ", "t", " t", " "): 2, ("é", "🎭", "é", "🎭"): 3},
    ),
    judge=judge_count_pairs,
    more=drawn(10, _counted_words),
    right=[right_count_pairs, lambda words: _counted(words, pairwise)],
    hints=[
        "How many pairs has a word of five pieces, and what does each of them add to the counts "
        "if the word occurs three times?",
        "For each `word, n` in `words.items()`, go through `pairwise(word)` and add `n` to the "
        "count of the pair, which may not be there yet.",
    ],
    question=number(
        'The word ("b", "a", "n", "a", "n", "a") occurs 4 times and ("n", "a", "n") 5 times. What '
        'does `count_pairs` count for the pair ("a", "n")?',
        lambda f: f({tuple("banana"): 4, tuple("nan"): 5})["a", "n"],
        digits=0,
    ),
    mistakes=[
        mistake(
            "ignores how often a word occurs",
            "A word seen 3 times adds 3 to its pairs, not 1",
            lambda words: _counted(words, pairwise, lambda count: 1),
        ),
        mistake(
            "counts a pair once a word",
            "A pair that occurs twice in a word counts twice, even where the two overlap",
            lambda words: _counted(words, lambda word: set(pairwise(word))),
        ),
        mistake(
            "misses the last pair",
            "The last pair of each word is missed: the loop stops one too early",
            lambda words: _counted(words, lambda word: pairwise(word[:-1])),
        ),
        mistake(
            "keeps the last count instead of adding",
            "The count of a later word replaces the earlier one: add it",
            lambda words: {pair: count for word, count in words.items() for pair in pairwise(word)},
        ),
        mistake(
            "adds to a count that is not there",
            "A pair seen for the first time has no count yet: start it at 0",
            adds_to_a_count,
        ),
        mistake(
            "looks one past the end",
            "The loop looks past the last piece",
            lambda words: _counted(
                words, lambda word: [(word[i], word[i + 1]) for i in range(len(word))]
            ),
        ),
    ],
)


def _merge(word, pair, joins=None, step=2, stop=0):
    """Go from left to right and join where `joins(i)` holds; the mistakes vary the rest."""
    joins = joins or (lambda i: word[i : i + 2] == pair)
    merged, i = [], 0
    while i < len(word) - stop:
        found = joins(i)
        merged.append(word[i] + word[i + 1] if found else word[i])
        i += step if found else 1
    return tuple(merged)


def _recursive(word, pair):
    if word[:2] == pair:
        return (pair[0] + pair[1], *_recursive(word[2:], pair))
    return (word[0], *_recursive(word[1:], pair)) if word else ()


def joins_the_first_occurrence(word, pair):
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return (*word[:i], "".join(pair), *word[i + 2 :])
    return word


merge_pair = exercise(
    "1.2",
    "merge_pair(word: pieces, pair: two pieces) -> pieces, `str` or `bytes`, in a tuple",
    cases=(
        (("l", "o", "w"), ("l", "o")),
        (("n", "e", "w"), ("e", "w")),
        (("a", "b", "x", "a", "b"), ("a", "b")),
        (("a", "a", "a"), ("a", "a")),
        (("a", "bc", "ab", "c"), ("ab", "c")),
        (("xab", "c"), ("ab", "c")),
        (("ab", "cx"), ("ab", "c")),
        (("b", "a"), ("a", "b")),
        (("a",), ("a", "b")),
        ((b"\xc3", b"\xa9", b"t"), (b"\xc3", b"\xa9")),
        (("a", "b", "a", "b", "a", "b", "c"), ("a", "b")),
        (("a", "a", "a", "a"), ("a", "a")),
        (("a", ".", "b", "*"), (".", "*")),
        ((" ", "t", " ", " t", "he"), (" ", "t")),
        ((b"a", b"b", b"\n", b"a", b"b"), (b"a", b"b")),
        (("a", "b", "c") * 4, ("a", "b")),
    ),
    more=drawn(
        16,
        lambda draw: (
            tuple(draw.choices("ab", k=draw.randint(0, 9))),
            tuple(draw.choices("ab", k=2)),
        ),
    ),
    right=[lambda word, pair: _merge(word, pair), _recursive],
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
        mistake(
            "joins the first occurrence only",
            "Only the first occurrence is joined: join every occurrence",
            joins_the_first_occurrence,
        ),
        mistake(
            "misses a pair at the end",
            "A pair at the end of the word is not joined",
            lambda word, pair: _merge(
                word, pair, lambda i: i < len(word) - 2 and word[i : i + 2] == pair
            ),
        ),
        mistake(
            "replaces text instead of pieces",
            "The piece `xab` only ends in `ab`: compare whole pieces",
            lambda word, pair: tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split()),
        ),
        mistake(
            "drops the last piece",
            "The pieces after the pair are lost",
            lambda word, pair: _merge(word, pair, stop=1),
        ),
        mistake(
            "keeps the second piece of the pair",
            "The pair's second piece stays behind: step over both pieces",
            lambda word, pair: _merge(word, pair, step=1),
        ),
        mistake(
            "looks one past the end",
            "The loop looks past the last piece",
            lambda word, pair: _merge(word, pair, lambda i: (word[i], word[i + 1]) == pair),
        ),
    ],
)


def _ids(letters, *merged):
    """Ids for single letters, then for merged tokens, in the order of learning."""
    return {token.encode(): i for i, token in enumerate((*letters, *merged))}


_FEW = b"a", b"b", b"ab", b"bb", b"bba", b"bbba"
BYTES = {bytes([byte]): 255 - byte for byte in range(256)}


def _single_bytes(chunk):
    return [bytes([byte]) for byte in chunk]


def _encode(chunk, ids, better=min, rounds=1000, start=_single_bytes):
    """Join the known pair with the lowest id until there is none; the mistakes vary the rest."""
    pieces = start(chunk)
    for _ in range(rounds):
        joins = [ids.get(left + right) for left, right in pairwise(pieces)]
        known = [join for join in joins if join is not None]
        if not known:
            break
        i = joins.index(better(known))
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return [ids[piece] for piece in pieces]


def _longest_from_the_left(chunk, ids):
    found = []
    while chunk:
        size = next(n for n in range(len(chunk), 0, -1) if chunk[:n] in ids)
        found.append(ids[chunk[:size]])
        chunk = chunk[size:]
    return found


def token_by_token(chunk, ids):
    pieces = [chunk[i : i + 1] for i in range(len(chunk))]
    for token in sorted(ids, key=ids.get):
        i = 0
        while i < len(pieces) - 1:
            if pieces[i] + pieces[i + 1] == token:
                pieces[i : i + 2] = [token]
            i += 1
    return [ids[piece] for piece in pieces]


def _characters(chunk):
    return [character.encode() for character in chunk.decode()]


encode_chunk = exercise(
    "1.3",
    "encode_chunk(chunk: bytes, ids: {token: id}) -> the chunk's ids, lowest id merged first",
    cases=(
        (b"low", _ids("wol")),
        (b"low", _ids("wol", "lo", "low")),
        (b"xabcd", _ids("xabcd", "cd", "ab", "abc", "xabc", "xa")),
        (b"abc", _ids("cba", "bc", "ab", "abc")),
        (b"abcd", _ids("abcd", "bc", "ab", "cd")),
        (b"abcd", _ids("abcd", "ab", "cd", "bc", "bcd")),
        (b"aaa", _ids("a", "aa")),
        (b"abab", _ids("ab", "ab")),
        (b"xabc", _ids("abcx", "bc", "xa", "ab", "abc")),
        ("é".encode(), {b"\xa9": 0, b"\xc3": 1, b"\xc3\xa9": 2}),
        (b"a", _ids("ba")),
        (b"abc", {b"bc": 40, b"a": 12, b"ab": 13, b"c": 7, b"b": 11}),  # in no order, with gaps
        (b"abcd", _ids("abcd", "ab", "abc", "cd")),
        (b"ababcababcab", _ids("abc", "ab", "cab", "abab", "abcab")),
        ("é".encode(), BYTES),  # characters of two and of four bytes, and no token for them
        ("🎭".encode(), BYTES),
        ("🎭él".encode(), BYTES | {b"\xf0\x9f": 256, b"\xa9l": 257}),
        (b"\xff\xfe", BYTES),  # no text at all
    ),
    right=[lambda chunk, ids: _encode(chunk, ids), token_by_token],
    hints=[
        "Which pairs of neighbours make a token, and which of these tokens was learned first?",
        "`min(pairs, key=lambda pair: ids[pair[0] + pair[1]])` is the pair to merge. Do it again "
        "until `pairs` is ...",
    ],
    question=number(
        "The ids are `a` 1, `b` 2, `ab` 3, `bb` 4, `bba` 5, `bbba` 6. How many ids does "
        '`encode_chunk(b"bbbabbb", ids)` return?',
        lambda f: len(f(b"bbbabbb", {t: i for i, t in enumerate(_FEW, 1)})),
        digits=0,
    ),
    mistakes=[
        mistake(
            "merges the leftmost pair it knows",
            "The leftmost pair is joined first: take the pair whose join has the lowest id",
            lambda chunk, ids: _encode(chunk, ids, better=lambda known: known[0]),
        ),
        mistake(
            "merges the highest id first",
            "The highest id is merged first: the lowest id was learned first",
            lambda chunk, ids: _encode(chunk, ids, better=max),
        ),
        mistake(
            "cuts out the longest token from left to right",
            "The longest token is cut out: join pairs instead, the lowest id first",
            _longest_from_the_left,
        ),
        mistake(
            "stops after one merge",
            "Only one pair is joined: go on until no pair of neighbours is in `ids`",
            lambda chunk, ids: _encode(chunk, ids, rounds=1),
        ),
        mistake(
            "takes numbers for pieces",
            "A loop over `bytes` gives numbers: the piece is `bytes([number])`",
            lambda chunk, ids: [ids[byte] for byte in chunk],
        ),
        mistake(
            "starts from characters",
            "The first pieces are characters, but `ids` need not know a whole one: start from "
            "single bytes",
            lambda chunk, ids: _encode(chunk, ids, start=_characters),
        ),
    ],
)


class _Tokenizer:
    """A right answer to 1.4; the mistakes change a method."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}

    def encode(self, text):
        return [i for chunk in self.cut(text) for i in _encode(chunk.encode(), self.ids)]

    def cut(self, text):
        return regex.findall(GPT2_PATTERN, text)

    def decode(self, ids):
        return b"".join(self.tokens[i] for i in ids).decode("utf-8", errors="replace")


# Some lie in a chunk of the pattern, others across two: each pattern that cuts elsewhere shows.
_MERGED = (
    *("lo", "low", " w", "y w", "ai", "é", " low", "'l", "'ll", "day", "  "),
    *("fé", "\u0301", "e\u0301", "12", "34", "a1", "a_", " 2", "!!", " ?", "(l", "'L", "\n\n"),
    *("er", "we"),
)
_TOKENS = [bytes([b]) for b in reversed(range(256))] + [token.encode() for token in _MERGED]
_ACCENTS = "naïve café e\u0301\r\n"  # the last é is two characters, and so is the line end
_TEXTS = (
    *("low", "low lower", "I'll  wait, 3 days!\n", "day way", _ACCENTS, "🎭 שלום", ""),
    *(" low  were \n", "(low) 12345 23 !! a1 a_ I'LL ?", "\tlow\xa0day\0   \n\n", "\ufeffLow  "),
)


_ANY = "A model may choose any bytes, also some that are no UTF-8: decode them"
_SHARED = (
    "Two tokenizers of different tokens disturb each other, or the ids of one are fixed numbers: "
    "keep everything in `self`."
)
_TWICE = "The second call gives other ids for the same text: does something stay from the first?"


def _judge_encode(ids, text, known):
    """Raise `Wrong` unless these are the text's ids; the diagnosis tells what they look like."""
    right, n = known.encode(text), len(known.tokens)
    if same(ids, right):
        return
    strange = [i for i in ids if not 0 <= i < n]
    expect(not strange, f"`encode({text!r})` holds the id {(strange or [0])[0]}: there are {n}.")
    why = ""
    if known.decode(ids) == text and len(ids) < len(right):
        why = "A token reaches over two chunks: cut the text with `PATTERN` first.\n"
    elif ids == known.encode("".join(known.cut(text)[:1])):
        why = "Only the first chunk is encoded: go on with the others.\n"
    elif known.decode(ids) == "".join(text.split()):
        why = "The white space is lost: cut with `PATTERN`, which keeps every character.\n"
    raise Wrong(f"{why}`encode({text!r})` {difference(ids, right)}.")


def judge_byte_tokenizer(call, tokens=_TOKENS):
    made, known = call(list(tokens)), _Tokenizer(tokens)
    tokenizer = made.value
    if made.error is not None or tokenizer is None:
        made.like("")
    methods = [getattr(tokenizer, name, None) for name in ("encode", "decode")]
    what = f"`{brief(tokenizer)}` is {kind(tokenizer)}, "
    expect(
        all(map(callable, methods)), what + "but an object with `encode` and `decode` is expected."
    )
    encode = Call(methods[0], "encode", ["text"])
    decode = Call(methods[1], "decode", ["ids"])
    for text in _TEXTS:
        _judge_encode(encode(text).like([0]), text, known)
    expect(encode("low").like([0]) == known.encode("low"), _TWICE)
    for text in _TEXTS:
        got = decode(known.encode(text)).like("text")
        parts = [known.tokens[i].decode(errors="replace") for i in known.encode(text)]
        why = "A character can be cut across two tokens: join the bytes first, then decode once"
        expect(got == text or got != "".join(parts), f"{why}.")
        expect(got == text, f"`decode` of the ids of `{text!r}` {difference(got, text)}.")
    for lost in (b"ok\xff", b"caf\xc3"):
        ids = [known.ids[bytes([byte])] for byte in lost]
        if isinstance(decode(ids).error, UnicodeDecodeError):
            raise Wrong(f"{_ANY} with `errors='replace'`.")
        got, right = decode.like("text"), known.decode(ids)
        expect(got == right, f"{_ANY}: `{decode}` returned `{got}`, expected `{right}`.")
    other = _Tokenizer(tokens[::-1])
    another = call(other.tokens).value
    for text in _TEXTS[:5]:
        ids = other.encode(text)
        expect(Call(another.encode, "encode", ["text"])(text).like([0]) == ids, _SHARED)
        expect(Call(another.decode, "decode", ["ids"])(ids).like("") == text, _SHARED)
        expect(encode(text).like([0]) == known.encode(text), _SHARED)
    return "`encode` and `decode` give the right answers for all texts, in any script."


class WithAMemory(_Tokenizer):
    def encode(self, text):
        ids, known = [], {}
        for match in regex.finditer(GPT2_PATTERN, text):
            chunk = match.group().encode()
            if chunk not in known:
                known[chunk] = _encode(chunk, self.ids)
            ids.extend(known[chunk])
        return ids

    def decode(self, ids):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        parts = [decoder.decode(self.tokens[i]) for i in ids]
        return "".join(parts) + decoder.decode(b"", final=True)


class DoesNotCutTheText(_Tokenizer):
    def cut(self, text):
        return [text]


class CutsAtWhiteSpace(_Tokenizer):
    def cut(self, text):
        return text.split()


class KeepsOneListForEachChunk(_Tokenizer):
    def encode(self, text):
        return [_encode(chunk.encode(), self.ids) for chunk in self.cut(text)]


class KeepsTheFirstChunkOnly(_Tokenizer):
    def cut(self, text):
        return super().cut(text)[:1]


class DecodesTokenByToken(_Tokenizer):
    def decode(self, ids):
        return "".join(self.tokens[i].decode("utf-8", errors="replace") for i in ids)


class DecodesStrictly(_Tokenizer):
    def decode(self, ids):
        return b"".join(self.tokens[i] for i in ids).decode()


ByteTokenizer = exercise(
    "1.4",
    "ByteTokenizer(tokens: list[bytes]), with encode(str) -> ids and decode(ids) -> str.",
    judge=judge_byte_tokenizer,
    right=[lambda tokens: _Tokenizer(tokens), WithAMemory],
    hints=[
        "Which of the two methods has to cut the text, and at which moment may bytes become text "
        "again?",
        "`encode`: `encode_chunk(chunk.encode(), self.ids)` for each chunk that `PATTERN` finds, "
        "all in one list. `decode`: join all bytes, and then `.decode(errors=...)`.",
    ],
    question=number(
        "A tokenizer has five tokens: a space 0, `a` 1, `b` 2, `b` with a space after it 3, and "
        'two spaces 4. How many ids does `encode("ab  ab")` return (two spaces in the middle)?',
        lambda f: len(f([b" ", b"a", b"b", b"b ", b"  "]).encode("ab  ab")),
        digits=0,
    ),
    mistakes=[
        refused("does not cut the text", "reaches over two chunks", DoesNotCutTheText),
        refused("cuts at white space", "The white space is lost", CutsAtWhiteSpace),
        refused("keeps one list for each chunk", "is a list, but an int", KeepsOneListForEachChunk),
        refused("keeps the first chunk only", "Only the first chunk", KeepsTheFirstChunkOnly),
        refused(
            "decodes token by token",
            "A character can be cut across two tokens",
            DecodesTokenByToken,
        ),
        refused("decodes strictly", "errors='replace'", DecodesStrictly),
    ],
)
