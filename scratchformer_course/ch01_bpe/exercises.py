"""The exercises of chapter 1, byte-pair encoding. Imports no torch."""

import codecs
import re
import unicodedata
from collections import Counter, defaultdict
from itertools import combinations, pairwise

import regex

from scratchformer.tokenizers.byte_bpe import GPT2_PATTERN
from scratchformer_course.kit.checks.compare import brief, difference, kind, same
from scratchformer_course.kit.checks.engine import Call, exercise
from scratchformer_course.kit.checks.verdict import Wrong, expect


def _counted(words, pairs, weight=lambda count: count):
    """Counts of the pairs that `pairs(word)` gives, each as often as `weight(count)` says."""
    counts = Counter()
    for word, count in words.items():
        for pair in pairs(word):
            counts[pair] += weight(count)
    return dict(counts)


@exercise("1.1")
class count_pairs:
    """count_pairs(words: {a word in pieces: occurrences}) -> {pair of neighbours: occurrences}"""

    cases = (
        {("l", "o", "w"): 2, ("n", "e", "w"): 3},
        {("l", "o", "w"): 5, ("l", "o"): 2},
        {("a", "b", "a", "b"): 3},
        {("a", "a", "a"): 1},
        {("lo", "w", "er"): 2, ("a",): 4},
        {(b"\xc3", b"\xa9", b"t"): 2, (b"t",): 1},
    )

    def right(words):
        counts = {}
        for word, count in words.items():
            for i in range(len(word) - 1):
                pair = (word[i], word[i + 1])
                counts[pair] = counts.get(pair, 0) + count
        return counts

    def also(words):
        counts = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count
        return counts

    def also_defaultdict(words):
        counts = defaultdict(int)
        for word in words:
            for pair in pairwise(word):
                counts[pair] += words[word]
        return counts

    def ignores_how_often_a_word_occurs(words):
        """A word seen 3 times adds 3 to its pairs, not 1"""
        return _counted(words, pairwise, lambda count: 1)

    def counts_a_pair_once_a_word(words):
        """A pair that occurs twice in a word counts twice, even where the two overlap"""
        return _counted(words, lambda word: set(pairwise(word)))

    def pairs_pieces_across_words(words):
        """The last piece of one word is paired with the first of the next"""
        stream = [(piece, count) for word, count in words.items() for piece in word]
        counts = Counter()
        for (a, _), (b, count) in pairwise(stream):
            counts[a, b] += count
        return dict(counts)

    def misses_the_last_pair(words):
        """The last pair of each word is missed: the loop stops one too early"""
        return _counted(words, lambda word: pairwise(word[:-1]))

    def misses_the_first_pair(words):
        """The first pair of each word is missed"""
        return _counted(words, lambda word: pairwise(word[1:]))

    def writes_each_pair_the_wrong_way_round(words):
        """Each pair is reversed: the left piece comes first"""
        return _counted(words, lambda word: [(b, a) for a, b in pairwise(word)])

    def sorts_the_two_pieces(words):
        """Pairs are sorted, but their order matters"""
        return _counted(words, lambda word: [tuple(sorted(pair)) for pair in pairwise(word)])

    def pairs_a_piece_with_the_next_but_one(words):
        """A piece is paired with the next but one"""
        return _counted(words, lambda word: zip(word[:-2], word[2:], strict=True))

    def pairs_every_two_pieces_of_a_word(words):
        """Pieces that are not neighbours are paired too"""
        return _counted(words, lambda word: combinations(word, 2))

    def keeps_the_last_count_instead_of_adding(words):
        """The count of a later word replaces the earlier one: add it"""
        return {pair: count for word, count in words.items() for pair in pairwise(word)}

    def keeps_the_first_count_instead_of_adding(words):
        """Only the first word with a pair is counted: add the later ones"""
        counts = {}
        for word, count in words.items():
            for pair in pairwise(word):
                counts.setdefault(pair, count)
        return counts

    def adds_to_a_count_that_is_not_there(words):
        """A pair seen for the first time has no count yet: start it at 0"""
        counts = {}
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count
        return counts

    def looks_one_past_the_end(words):
        """The loop looks past the last piece"""
        return _counted(words, lambda word: [(word[i], word[i + 1]) for i in range(len(word))])

    def fails_on_a_word_of_one_piece(words):
        """A word of one piece has no pairs, and must not fail"""
        return _counted(words, lambda word: [(word[0], word[1]), *pairwise(word[1:])])

    def joins_each_pair_into_one_string(words):
        """… but a tuple such as"""
        return _counted(words, lambda word: [a + b for a, b in pairwise(word)])

    def returns_a_list_of_pairs_and_counts(words):
        """… is a list, but a dict"""
        return list(_counted(words, pairwise).items())


def _merge(word, pair, joins=None, step=2, stop=0):
    """Go from left to right and join where `joins(i)` holds; the mistakes vary the rest."""
    joins = joins or (lambda i: word[i : i + 2] == pair)
    merged, i = [], 0
    while i < len(word) - stop:
        found = joins(i)
        merged.append(_joined(word[i : i + 2]) if found else word[i])
        i += step if found else 1
    return tuple(merged)


def _joined(pieces):
    """The pieces, strings or bytes, as one."""
    return pieces[0][:0].join(pieces)


def _merge_from_the_right(word, pair):
    merged, i = [], len(word) - 1
    while i >= 0:
        found = i > 0 and word[i - 1 : i + 1] == pair
        merged.append(_joined(pair) if found else word[i])
        i -= 2 if found else 1
    return tuple(reversed(merged))


def _recursive(word, pair):
    if word[:2] == pair:
        return (pair[0] + pair[1], *_recursive(word[2:], pair))
    return (word[0], *_recursive(word[1:], pair)) if word else ()


@exercise("1.2")
class merge_pair:
    """merge_pair(word: pieces, pair: two pieces) -> pieces, `str` or `bytes`, in a tuple"""

    cases = (
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
    )

    def right(word, pair):
        merged, i = [], 0
        while i < len(word):
            if word[i : i + 2] == pair:
                merged.append(word[i] + word[i + 1])
                i += 2
            else:
                merged.append(word[i])
                i += 1
        return tuple(merged)

    def also(word, pair):
        return _recursive(word, pair)

    def joins_the_first_occurrence_only(word, pair):
        """Only the first occurrence is joined: join every occurrence"""
        for i in range(len(word) - 1):
            if word[i : i + 2] == pair:
                return (*word[:i], "".join(pair), *word[i + 2 :])
        return word

    def joins_the_last_occurrence_only(word, pair):
        """Only the last occurrence is joined: join every occurrence"""
        for i in reversed(range(len(word) - 1)):
            if word[i : i + 2] == pair:
                return (*word[:i], "".join(pair), *word[i + 2 :])
        return word

    def uses_a_piece_in_two_joins(word, pair):
        """One piece is used in two joins: after a join, step over both pieces"""
        merged, joined = [], False
        for i in range(len(word)):
            now = word[i : i + 2] == pair
            if now or not joined:
                merged.append("".join(pair) if now else word[i])
            joined = now
        return tuple(merged)

    def replaces_text_instead_of_pieces(word, pair):
        """The piece `xab` only ends in `ab`: compare whole pieces"""
        return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split())

    def replaces_text_guarded_on_the_left_only(word, pair):
        """The piece `cx` only begins with `c`: compare whole pieces"""
        return tuple(re.sub(r"(?<!\S)" + " ".join(pair), "".join(pair), " ".join(word)).split())

    def compares_the_joined_letters(word, pair):
        """Whole pieces are compared, not letters: `ab` + `c` is another pair than `a` + `bc`"""
        return _merge(word, pair, lambda i: "".join(word[i : i + 2]) == "".join(pair))

    def goes_from_right_to_left(word, pair):
        """Occurrences are joined from the right: go from left to right"""
        return _merge_from_the_right(word, pair)

    def joins_the_whole_word(word, pair):
        """The whole word is joined, not only the pair"""
        return ("".join(word),) if pair in pairwise(word) else word

    def keeps_the_pair_alone(word, pair):
        """The pieces before the pair are lost"""
        return ("".join(pair),) if pair in pairwise(word) else word

    def drops_the_last_piece(word, pair):
        """The pieces after the pair are lost"""
        return _merge(word, pair, stop=1)

    def misses_a_pair_at_the_end(word, pair):
        """A pair at the end of the word is not joined"""
        return _merge(word, pair, lambda i: i < len(word) - 2 and word[i : i + 2] == pair)

    def repeats_the_last_piece_after_a_pair_at_the_end(word, pair):
        """The last piece appears again after a pair at the end"""
        merged = _merge(word, pair)
        return (*merged, word[-1]) if word[-2:] == pair else merged

    def loses_a_pair_at_the_end(word, pair):
        """A pair at the end of the word is lost"""
        merged = _merge(word, pair)
        return merged[:-1] if word[-2:] == pair else merged

    def keeps_the_second_piece_of_the_pair(word, pair):
        """The pair's second piece stays behind: step over both pieces"""
        return _merge(word, pair, step=1)

    def joins_again_what_is_joined(word, pair):
        """A joined piece is joined again: one pass only"""
        a, b = pair  # every space between the two is removed
        return tuple(re.sub(rf"\b{a} (?={b}\b)", "", " ".join(word)).split())

    def looks_one_past_the_end(word, pair):
        """The loop looks past the last piece"""
        return _merge(word, pair, lambda i: (word[i], word[i + 1]) == pair)

    def looks_one_past_the_end_where_the_first_piece_fits(word, pair):
        return _merge(word, pair, lambda i: word[i] == pair[0] and word[i + 1] == pair[1])

    def accepts_the_pair_in_either_order(word, pair):
        """The pair's order matters: `b`, `a` is not `a`, `b`"""
        return _merge(word, pair, lambda i: word[i : i + 2] in (pair, pair[::-1]))

    def joins_the_pair_whatever_its_order(word, pair):
        pairs = (pair, pair[::-1])
        merged = _merge(word, pair, lambda i: word[i : i + 2] in pairs)
        return tuple("".join(pair) if piece == "".join(pair[::-1]) else piece for piece in merged)

    def finds_nothing_since_it_compares_a_tuple_with_a_string(word, pair):
        """The pair is there, but nothing is joined"""
        return tuple("".join(pair) if piece == "".join(pair) else piece for piece in word)

    def joins_strings_only(word, pair):
        """Pieces may be bytes too, and `"".join` takes strings only: join two pieces with `+`"""
        merged = _merge(word, pair)
        return tuple("".join(pair) if piece == _joined(pair) else piece for piece in merged)

    def returns_a_list(word, pair):
        """… is a list, but a tuple"""
        return list(_merge(word, pair))


def _ids(letters, *merged):
    """Ids for single letters, then for merged tokens, in the order of learning."""
    return {token.encode(): i for i, token in enumerate((*letters, *merged))}


def _pieces(chunk):
    return [bytes([byte]) for byte in chunk]


def _encode(chunk, ids, better=min, places=lambda found: found[0], rounds=1000):
    """Join the known pair with the lowest id until there is none; the mistakes vary the rest."""
    pieces = _pieces(chunk)
    for _ in range(rounds):
        joins = [ids.get(left + right) for left, right in pairwise(pieces)]
        known = [join for join in joins if join is not None]
        if not known:
            break
        best = better(known)
        i = places([i for i, join in enumerate(joins) if join == best])
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return [ids[piece] for piece in pieces]


def _longest_from_the_left(chunk, ids):
    found = []
    while chunk:
        size = next(n for n in range(len(chunk), 0, -1) if chunk[:n] in ids)
        found.append(ids[chunk[:size]])
        chunk = chunk[size:]
    return found


def _longest_anywhere(chunk, ids):
    for token in sorted(ids, key=len, reverse=True):
        before, middle, after = chunk.partition(token)
        if middle:
            return [*_longest_anywhere(before, ids), ids[token], *_longest_anywhere(after, ids)]
    return []


@exercise("1.3")
class encode_chunk:
    """encode_chunk(chunk: bytes, ids: {token: id}) -> the chunk's ids, lowest id merged first"""

    cases: tuple = (
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
    )

    def right(chunk, ids):
        pieces = [bytes([byte]) for byte in chunk]
        while known := [pair for pair in pairwise(pieces) if b"".join(pair) in ids]:
            left, right = min(known, key=lambda pair: ids[b"".join(pair)])
            pieces = list(_merge(tuple(pieces), (left, right)))
        return [ids[piece] for piece in pieces]

    def also(chunk, ids):
        return _encode(chunk, ids)

    def also_token_by_token(chunk, ids):
        pieces = [chunk[i : i + 1] for i in range(len(chunk))]
        for token in sorted(ids, key=ids.get):
            i = 0
            while i < len(pieces) - 1:
                if pieces[i] + pieces[i + 1] == token:
                    pieces[i : i + 2] = [token]
                i += 1
        return [ids[piece] for piece in pieces]

    def applies_no_merge(chunk, ids):
        """No pair is joined: a pair of neighbours whose join is in `ids` becomes one piece"""
        return [ids[piece] for piece in _pieces(chunk)]

    def merges_the_leftmost_pair_it_knows(chunk, ids):
        """The leftmost pair is joined first: take the pair whose join has the lowest id"""
        pieces = _pieces(chunk)
        while known := [i for i, pair in enumerate(pairwise(pieces)) if b"".join(pair) in ids]:
            pieces[known[0] : known[0] + 2] = [b"".join(pieces[known[0] : known[0] + 2])]
        return [ids[piece] for piece in pieces]

    def merges_the_highest_id_first(chunk, ids):
        """The highest id is merged first: the lowest id was learned first"""
        return _encode(chunk, ids, better=max)

    def cuts_out_the_longest_token_from_left_to_right(chunk, ids):
        """The longest token is cut out: join pairs instead, the lowest id first"""
        return _longest_from_the_left(chunk, ids)

    def cuts_out_the_longest_token_anywhere(chunk, ids):
        return _longest_anywhere(chunk, ids)

    def stops_after_one_merge(chunk, ids):
        """Only one pair is joined: go on until no pair of neighbours is in `ids`"""
        return _encode(chunk, ids, rounds=1)

    def joins_from_the_right(chunk, ids):
        """Equal pairs are joined from the right: go from left to right"""
        return _encode(chunk, ids, places=lambda found: found[-1])

    def takes_the_number_of_a_byte_for_its_id(chunk, ids):
        """A byte's id is what `ids` says, not the number of the byte"""
        known = {token: token[0] if len(token) == 1 else i for token, i in ids.items()}
        return _encode(chunk, known)

    def takes_numbers_for_pieces(chunk, ids):
        """A loop over `bytes` gives numbers: the piece is `bytes([number])`"""
        return [ids[byte] for byte in chunk]

    def decodes_the_bytes_one_by_one(chunk, ids):
        """A byte may be a part of a character: leave the pieces bytes"""
        pieces = [bytes([byte]).decode().encode() for byte in chunk]
        return _encode(b"".join(pieces), ids)

    def returns_the_pieces(chunk, ids):
        """… is a bytes, but an int"""
        tokens = {i: token for token, i in ids.items()}
        return [tokens[i] for i in _encode(chunk, ids)]


class _Tokenizer:
    """A right answer to 1.4; the mistakes change a method."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}

    def encode(self, text):
        chunks = self.cut(text)
        return [i for chunk in chunks for i in _encode(self.as_bytes(chunk), self.ids)]

    def cut(self, text):
        return regex.findall(GPT2_PATTERN, text)

    def as_bytes(self, chunk):
        return chunk.encode()

    def decode(self, ids):
        return b"".join(self.tokens[i] for i in ids).decode("utf-8", errors="replace")


_MERGED = ("lo", "low", " w", "y w", "ai", "é", " low", "'l", "'ll", "day", "  ")
_TOKENS = [bytes([b]) for b in reversed(range(256))] + [token.encode() for token in _MERGED]
_ACCENTS = "naïve café e\u0301\r\n"  # the last é is two characters, and so is the line end
_TEXTS = ("low", "low lower", "I'll  wait, 3 days!\n", "day way", _ACCENTS, "🎭 שלום", "")


@exercise("1.4")
class ByteTokenizer:
    """ByteTokenizer(tokens: list[bytes]), with encode(str) -> ids and decode(ids) -> str."""

    given = (_TOKENS,)

    def judge(call, tokens):
        made, known = call(list(tokens)), _Tokenizer(tokens)
        tokenizer = made.value
        if made.error is not None or tokenizer is None:
            made.like("")
        methods = [getattr(tokenizer, name, None) for name in ("encode", "decode")]
        what = f"`{brief(tokenizer)}` is {kind(tokenizer)}, "
        expect(
            all(map(callable, methods)),
            what + "but an object with `encode` and `decode` is expected.",
        )
        encode = Call(methods[0], "encode", ["text"])
        decode = Call(methods[1], "decode", ["ids"])
        for text in _TEXTS:
            _judge_encode(encode(text).like([0]), text, known)
        expect(encode("low").like([0]) == known.encode("low"), _TWICE)
        for text in _TEXTS:
            got = decode(known.encode(text)).like("text")
            expect(got == text, _why_not_decoded(got, text, known))
        for lost in (b"ok\xff", b"caf\xc3"):
            ids = [known.ids[bytes([byte])] for byte in lost]
            if isinstance(decode(ids).error, UnicodeDecodeError):
                raise Wrong(f"{_ANY} with `errors='replace'`.")
            got, right = decode.like("text"), known.decode(ids)
            expect(got == right, f"{_ANY}: `{decode}` returned `{got}`, expected `{right}`.")
        return "`encode` and `decode` give the right answers for all texts, in any script."

    def right(tokens):
        return _Tokenizer(tokens)

    class also_with_a_memory(_Tokenizer):
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

    class does_not_cut_the_text(_Tokenizer):
        """… reaches over two chunks"""

        def cut(self, text):
            return [text]

    class cuts_at_white_space(_Tokenizer):
        """… The white space is lost"""

        def cut(self, text):
            return text.split()

    class keeps_one_list_for_each_chunk(_Tokenizer):
        """… is a list, but an int"""

        def encode(self, text):
            return [_encode(chunk.encode(), self.ids) for chunk in self.cut(text)]

    class keeps_the_first_chunk_only(_Tokenizer):
        """… Only the first chunk"""

        def cut(self, text):
            return super().cut(text)[:1]

    class keeps_the_ids_of_the_text_before(_Tokenizer):
        """… starts with the ids of the text before"""

        def __init__(self, tokens):
            super().__init__(tokens)
            self.found = []

        def encode(self, text):
            self.found += super().encode(text)
            return list(self.found)

    class takes_the_bytes_of_Latin_1(_Tokenizer):
        """… The bytes are not those of UTF-8"""

        def as_bytes(self, chunk):
            return chunk.encode("latin-1", errors="replace")

    class composes_accents_before_encoding(_Tokenizer):
        """… Accents are written in another way"""

        def encode(self, text):
            return super().encode(unicodedata.normalize("NFC", text))

    class changes_line_ends_before_encoding(_Tokenizer):
        """… A line end is changed or lost"""

        def encode(self, text):
            return super().encode(text.replace("\r\n", "\n"))

    class returns_the_tokens_instead_of_ids(_Tokenizer):
        """… is a bytes, but an int"""

        def encode(self, text):
            return [self.tokens[i] for i in super().encode(text)]

    class takes_characters_for_chunks(_Tokenizer):
        """… cut too often"""

        def cut(self, text):
            return list(text)

    class decodes_token_by_token(_Tokenizer):
        """… A character can be cut across two tokens"""

        def decode(self, ids):
            return "".join(self.tokens[i].decode("utf-8", errors="replace") for i in ids)

    class decodes_token_by_token_and_ignores_errors(_Tokenizer):
        """… A character can be cut across two tokens"""

        def decode(self, ids):
            return "".join(self.tokens[i].decode("utf-8", errors="ignore") for i in ids)

    class decodes_strictly(_Tokenizer):
        """… errors='replace'"""

        def decode(self, ids):
            return b"".join(self.tokens[i] for i in ids).decode()

    class ignores_errors(_Tokenizer):
        """… may choose any bytes"""

        def decode(self, ids):
            return b"".join(self.tokens[i] for i in ids).decode(errors="ignore")

    class composes_accents_after_decoding(_Tokenizer):
        """… Accents are written in another way"""

        def decode(self, ids):
            return unicodedata.normalize("NFC", super().decode(ids))

    class changes_line_ends_after_decoding(_Tokenizer):
        """… A line end is changed or lost"""

        def decode(self, ids):
            return super().decode(ids).replace("\r\n", "\n")

    class joins_with_spaces(_Tokenizer):
        """… A space is put between the tokens"""

        def decode(self, ids):
            return b" ".join(self.tokens[i] for i in ids).decode(errors="replace")

    class decodes_to_bytes(_Tokenizer):
        """… is a bytes, but a str"""

        def decode(self, ids):
            return b"".join(self.tokens[i] for i in ids)

    def returns_the_ids_of_a_text(tokens):
        """… an object with `encode` and `decode`"""
        return [1, 2, 3]


_ANY = "A model may choose any bytes, also some that are no UTF-8: decode them"
_TWICE = "The second call gives other ids for the same text: does something stay from the first?"


def _judge_encode(ids, text, known):
    """Raise `Wrong` unless these are the text's ids; the diagnosis tells what they look like."""
    right, n = known.encode(text), len(known.tokens)
    if same(ids, right):
        return
    strange = [i for i in ids if not 0 <= i < n]
    expect(not strange, f"`encode({text!r})` holds the id {(strange or [0])[0]}: there are {n}.")
    chunks = known.cut(text)
    why = ""
    if len(ids) > len(right) and ids[-len(right) :] == right:
        why = "The answer starts with the ids of the text before: begin with an empty list.\n"
    elif ids == _encode(text.encode(), known.ids):
        why = "A token reaches over two chunks: cut the text with `PATTERN` first.\n"
    elif ids == known.encode(chunks[0] if chunks else ""):
        why = "Only the first chunk is encoded: go on with the others.\n"
    elif known.decode(ids) == text:
        why = "The text is cut too often or joined in another order: chunks first, then merges.\n"
    elif known.decode(ids) == "".join(text.split()):
        why = "The white space is lost: cut with `PATTERN`, which keeps every character.\n"
    elif changed := _changed(known.decode(ids), text):
        why = f"{changed}.\n"
    elif not text.isascii():
        why = "The bytes are not those of UTF-8: `chunk.encode()` gives them.\n"
    raise Wrong(f"{why}`encode({text!r})` {difference(ids, right)}.")


def _changed(got, text):
    """How a text that differs has been tidied up, or nothing."""
    if unicodedata.normalize("NFKD", got) == unicodedata.normalize("NFKD", text):
        return (
            "Accents are written in another way: é as one character or as two, keep what is there"
        )
    if got.splitlines() == text.splitlines():
        return "A line end is changed or lost: `\\r\\n` is two characters, keep what is there"
    return ""


def _why_not_decoded(got, text, known):
    """What is wrong with this decoded text, in a sentence."""
    tokens = [known.tokens[i] for i in known.encode(text)]
    if got == b" ".join(tokens).decode(errors="replace"):
        return "A space is put between the tokens: join them with nothing between."
    if got in [
        "".join(token.decode(errors=how) for token in tokens) for how in ("replace", "ignore")
    ]:
        return "A character can be cut across two tokens: join the bytes first, then decode once."
    changed = _changed(got, text)
    why = f"{changed}.\n" if changed else ""
    return f"{why}`decode` of the ids of `{text!r}` {difference(got, text)}."


class _SmallTokenizer:
    """Byte-level and lossless: the 256 bytes, then the tokens `th` and `é`."""

    tokens = (*(bytes([b]) for b in range(256)), b"th", "é".encode())

    def encode(self, text):
        found = re.findall("th|é|.".encode(), text.encode(), re.DOTALL)
        return [self.tokens.index(token) for token in found]

    def decode(self, ids):
        return b"".join(self.tokens[i] for i in ids).decode("utf-8", errors="replace")


@exercise("1.5")
class other_ids:
    """other_ids(tokenizer) -> ids of a readable text that `tokenizer.encode` never gives."""

    given = (_SmallTokenizer(),)

    def judge(call, tokenizer):
        ids = call(tokenizer).like([0], "Return the list of ids itself.")
        expect(ids, "The list is empty, and `encode` gives an empty list for an empty text.")
        last = len(tokenizer.tokens) - 1
        outside = [i for i in ids if not 0 <= i <= last]
        why = f"The id {(outside or [0])[0]} is outside the table, whose ids are 0 … {last}."
        expect(not outside, why)
        text = tokenizer.decode(ids)
        readable = f"The ids decode to `{brief(text)}`: bytes that are no UTF-8 are no text."
        expect("\ufffd" not in text, readable)
        back = tokenizer.encode(text)
        expect(back != ids, f"`encode` gives exactly these ids for `{brief(text)}`.")
        ours, usual = brief(ids, 50), brief(back, 50)
        return f"{brief(text, 30)} can be {ours}, but `encode` always gives {usual}."

    def right(tokenizer):
        return list(b"the")

    def also(tokenizer):
        return [i for letter in "with thanks" for i in tokenizer.encode(letter)]

    def returns_what_encode_gives(tokenizer):
        """… `encode` gives exactly these ids"""
        return tokenizer.encode("the")

    def takes_letters_that_were_never_merged(tokenizer):
        """… `encode` gives exactly these ids"""
        return tokenizer.encode("q") + tokenizer.encode("x")

    def cuts_a_character_and_loses_its_end(tokenizer):
        """… are no UTF-8"""
        return list("é".encode())[:1]

    def returns_an_empty_list(tokenizer):
        """… The list is empty"""
        return []

    def returns_an_id_outside_the_table(tokenizer):
        """… outside the table"""
        return [len(tokenizer.tokens)]

    def counts_an_id_from_the_end(tokenizer):
        """… The id -1 is outside the table"""
        return [-1]

    def counts_one_id_of_two_from_the_end(tokenizer):
        """… The id -2 is outside the table"""
        return [-2, ord("e")]

    def returns_the_text(tokenizer):
        """… Return the list of ids itself"""
        return "the"

    def returns_the_bytes(tokenizer):
        """… is a bytes, but a list"""
        return b"the"

    def returns_both_lists(tokenizer):
        """… is a list, but an int"""
        return [list(b"the"), tokenizer.encode("the")]
