"""The exercises of chapter 1, byte-pair encoding. Imports no torch."""

import codecs
import re
from collections import Counter, defaultdict
from itertools import combinations, pairwise

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import Wrong, expect


def _counted(words, pairs, weight=lambda count: count):
    """Counts of the pairs that `pairs(word)` gives, each as often as `weight(count)` says."""
    counts = Counter()
    for word, count in words.items():
        for pair in pairs(word):
            counts[pair] += weight(count)
    return dict(counts)


@exercise("1.1")
class count_pairs:
    """count_pairs(words: dict[tuple[str, ...], int]) -> dict[tuple[str, str], int]"""

    cases = (
        {("l", "o", "w"): 2, ("n", "e", "w"): 3},
        {("l", "o", "w"): 5, ("l", "o"): 2},
        {("a", "b", "a", "b"): 3},
        {("a", "a", "a"): 1},
        {("lo", "w", "</w>"): 2, ("a",): 4},
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
        merged.append("".join(word[i : i + 2]) if found else word[i])
        i += step if found else 1
    return tuple(merged)


def _merge_from_the_right(word, pair):
    merged, i = [], len(word) - 1
    while i >= 0:
        found = i > 0 and word[i - 1 : i + 1] == pair
        merged.append("".join(pair) if found else word[i])
        i -= 2 if found else 1
    return tuple(reversed(merged))


def _recursive(word, pair):
    if word[:2] == pair:
        return ("".join(pair), *_recursive(word[2:], pair))
    return (word[0], *_recursive(word[1:], pair)) if word else ()


@exercise("1.2")
class merge_pair:
    """merge_pair(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]"""

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

    def returns_a_list(word, pair):
        """… is a list, but a tuple"""
        return list(_merge(word, pair))


def _apply(tokens, merges):
    """The pieces after all merges, in order."""
    for pair in merges:
        tokens = _merge(tuple(tokens), pair)
    return list(tokens)


def _joined_by_text(pieces, merges):
    """The pieces of a text with spaces between them, each merge a `str.replace`."""
    text = " ".join(pieces)
    for a, b in merges:
        text = text.replace(f"{a} {b}", a + b)
    return text.split(" ")


@exercise("1.3")
class encode_word:
    """encode_word(word: str, merges: list[tuple[str, str]]) -> list[str]"""

    cases: tuple = (
        ("low", []),
        ("low", [("l", "o"), ("lo", "w")]),
        ("abc", [("b", "c"), ("a", "b"), ("a", "bc")]),
        ("abc", [("b", "c"), ("a", "b"), ("ab", "c")]),
        ("abcd", [("a", "b"), ("c", "d"), ("b", "c"), ("bc", "d")]),
        ("aaa", [("a", "a")]),
        ("abab", [("a", "b")]),
        ("low", [("l", "o"), ("w", "</w>"), ("lo", "w</w>")]),
        ("zap", [("a", "p")]),
        ("xabc", [("x", "a"), ("a", "b"), ("b", "c"), ("a", "bc")]),
    )

    def right(word, merges):
        tokens = [*word, "</w>"]
        for pair in merges:
            i = 0
            while i < len(tokens) - 1:
                if (tokens[i], tokens[i + 1]) == pair:
                    tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
                i += 1
        return tokens

    def also(word, merges):
        ranks = {pair: rank for rank, pair in enumerate(merges)}
        tokens = [*word, "</w>"]
        while known := [pair for pair in pairwise(tokens) if pair in ranks]:
            tokens = _apply(tokens, [min(known, key=ranks.get)])
        return tokens

    def cuts_out_the_longest_known_token_from_left_to_right(word, merges):
        """The longest known token is cut out, but the merges alone decide: no merge reaches it"""
        known, tokens, rest = {a + b for a, b in merges}, [], [*word, "</w>"]
        while rest:
            size = next(n for n in range(len(rest), 0, -1) if n == 1 or "".join(rest[:n]) in known)
            tokens.append("".join(rest[:size]))
            rest = rest[size:]
        return tokens

    def cuts_out_the_longest_known_token_anywhere_first(word, merges):
        def cut(pieces):
            for token in sorted((a + b for a, b in merges), key=len, reverse=True):
                for i, j in combinations(range(len(pieces) + 1), 2):
                    if "".join(pieces[i:j]) == token:
                        return [*cut(pieces[:i]), token, *cut(pieces[j:])]
            return pieces

        return cut([*word, "</w>"])

    def merges_the_leftmost_pair_it_knows(word, merges):
        """The leftmost pair is merged first: take the pair that was learned first"""
        tokens = [*word, "</w>"]
        while known := [i for i, pair in enumerate(pairwise(tokens)) if pair in merges]:
            tokens[known[0] : known[0] + 2] = ["".join(tokens[known[0] : known[0] + 2])]
        return tokens

    def forgets_the_end_of_the_word(word, merges):
        """The end of the word is missing: the piece `</w>` comes last"""
        return _apply(word, merges)

    def glues_the_end_to_the_last_character(word, merges):
        """`</w>` starts as a piece of its own, not on the last character"""
        return _apply([*word[:-1], word[-1] + "</w>"], merges)

    def takes_the_end_apart(word, merges):
        """`</w>` is one piece, not four characters"""
        return _apply(word + "</w>", merges)

    def applies_the_merges_in_reverse_order(word, merges):
        """The merges are not applied in the order they were learned"""
        return _apply([*word, "</w>"], merges[::-1])

    def applies_each_merge_once_only(word, merges):
        """A merge is applied once only: join every place where it fits"""
        tokens = [*word, "</w>"]
        for pair in merges:
            if pair in pairwise(tokens):
                i = [*pairwise(tokens)].index(pair)
                tokens[i : i + 2] = ["".join(pair)]
        return tokens

    def joins_from_the_right(word, merges):
        """Occurrences are joined from the right: go from left to right"""
        tokens = (*word, "</w>")
        for pair in merges:
            tokens = _merge_from_the_right(tokens, pair)
        return list(tokens)

    def drops_characters_no_merge_knows(word, merges):
        """Characters that no merge knows are dropped: they stay as they are"""
        known = {character for pair in merges for character in "".join(pair)}
        return _apply([*(character for character in word if character in known), "</w>"], merges)

    def returns_nothing_where_there_is_no_merge(word, merges):
        return _apply([*word, "</w>"], merges) if merges else []

    def adds_the_end_after_the_merges(word, merges):
        """Merges with `</w>` are not applied"""
        return [*_apply(word, merges), "</w>"]

    def applies_no_merge(word, merges):
        """No merge is applied"""
        return [*word, "</w>"]

    def replaces_text_instead_of_pieces(word, merges):
        """`str.replace` joins parts of pieces too: `xa` `b` holds `a b`. Compare whole pieces"""
        return _joined_by_text([*word, "</w>"], merges)


@exercise("1.4")
class decode_tokens:
    """decode_tokens(tokens: list[bytes]) -> str"""

    cases: tuple = (
        [b"low", b"er"],
        [b"caf\xc3\xa9"],
        [b"caf\xc3", b"\xa9"],
        [b"\xef\xbb\xbfok"],
        [b"ok", b"\xff", b"a"],
        [b"ok", b"\xc3"],
        [],
    )

    def right(tokens):
        return b"".join(tokens).decode("utf-8", errors="replace")

    def also(tokens):
        everything = bytearray()
        for token in tokens:
            everything += token
        return str(everything, "utf-8", "replace")

    def also_piece_by_piece(tokens):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return "".join(map(decoder.decode, tokens)) + decoder.decode(b"", final=True)

    def decodes_token_by_token(tokens):
        """A character can be cut across two tokens: join the bytes first, then decode once"""
        return "".join(token.decode("utf-8", errors="replace") for token in tokens)

    def decodes_token_by_token_and_ignores_errors(tokens):
        return "".join(token.decode("utf-8", errors="ignore") for token in tokens)

    def decodes_token_by_token_strictly(tokens):
        return "".join(token.decode("utf-8") for token in tokens)

    def never_finishes_an_incremental_decoder(tokens):
        """The bytes of a character that is cut off at the end are lost: finish the decoder with
        `final=True`"""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return "".join(map(decoder.decode, tokens))

    def ignores_errors(tokens):
        """Bytes that are no UTF-8 vanish without a trace. A model may choose any bytes, so decode
        with `errors='replace'`"""
        return b"".join(tokens).decode("utf-8", errors="ignore")

    def decodes_strictly(tokens):
        """A model may choose any bytes, so decode with `errors='replace'`"""
        return b"".join(tokens).decode("utf-8")

    def shows_bad_bytes_as_escapes(tokens):
        return b"".join(tokens).decode("utf-8", errors="backslashreplace")

    def removes_the_byte_order_mark(tokens):
        """The first character vanishes: decode as `utf-8`, not `utf-8-sig`"""
        return b"".join(tokens).decode("utf-8-sig", errors="replace")

    def takes_the_bytes_for_Latin_1(tokens):
        """The bytes are UTF-8, not Latin-1: `é` is two bytes"""
        return b"".join(tokens).decode("latin-1")

    def takes_the_bytes_for_ASCII(tokens):
        """The bytes are UTF-8, not ASCII: `é` is two bytes"""
        return b"".join(tokens).decode("ascii", errors="replace")

    def takes_the_bytes_for_ASCII_and_ignores_errors(tokens):
        return b"".join(tokens).decode("ascii", errors="ignore")

    def takes_the_bytes_for_ASCII_strictly(tokens):
        return b"".join(tokens).decode("ascii")

    def takes_the_bytes_for_UTF_16(tokens):
        """The bytes are UTF-8, not UTF-16"""
        return b"".join(tokens).decode("utf-16", errors="replace")

    def takes_the_bytes_for_UTF_16_strictly(tokens):
        return b"".join(tokens).decode("utf-16")

    def calls_str_on_the_bytes(tokens):
        """`str(…)` of bytes shows them as code: use `.decode`"""
        return str(b"".join(tokens))

    def calls_str_on_each_token(tokens):
        return "".join(map(str, tokens))

    def joins_with_spaces(tokens):
        """A space is put between the tokens: join them with nothing between"""
        return b" ".join(tokens).decode("utf-8", errors="replace")

    def returns_the_joined_bytes(tokens):
        """… is a bytes, but a str"""
        return b"".join(tokens)


class _SmallTokenizer:
    """Byte-level and lossless, with a merge for `th` and for `é`: the tests give it."""

    def encode(self, text):
        return list(re.sub("th|é".encode(), b"-", text.encode("utf-8")))


@exercise("1.5")
class costly_text:
    """costly_text(tokenizer) -> str of 1–20 characters with more tokens than characters."""

    given = (_SmallTokenizer(),)

    def judge(call, tokenizer):
        text = call(tokenizer).like("text", "Return the text itself: the check encodes it.")
        expect(text, "The text is empty: 0 characters, 0 tokens.")
        most = f"The text has {len(text)} characters, but 20 are the most allowed."
        expect(len(text) <= 20, most)
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise Wrong("A lone surrogate is half a character: no file can hold it as UTF-8.")
        tokens = len(tokenizer.encode(text))
        figures = f"{len(text)} character{'s' * (len(text) > 1)}, {tokens} tokens"
        if tokens > len(text):
            return f"{figures}: most of these bytes were never merged."
        if text.isascii():
            raise Wrong(f"{figures}. Each of these characters is one byte, so one token at most.")
        raise Wrong(f"{figures}. More tokens than characters are needed: which bytes are rare?")

    def right(tokenizer):
        return "λόγος"

    def also(tokenizer):
        every = (chr(code) for code in range(0x4E00, 0x9FFF))
        return max((next(every) for _ in range(50)), key=lambda text: len(tokenizer.encode(text)))

    def writes_plain_English(tokenizer):
        """… characters is one byte"""
        return "to be or not to be"

    def writes_letters_the_tokenizer_never_merged(tokenizer):
        """… one token at most"""
        return "qzxqzx"

    def returns_an_empty_text(tokenizer):
        """… The text is empty"""
        return ""

    def returns_a_text_that_is_too_long(tokenizer):
        """… 20 are the most allowed"""
        return "λόγος" * 5

    def returns_the_tokens(tokenizer):
        """… Return the text itself"""
        return tokenizer.encode("λόγος")

    def returns_the_bytes(tokenizer):
        """… is a bytes, but a str"""
        return "λόγος".encode()

    def needs_exactly_as_many_tokens_as_characters(tokenizer):
        """… More tokens than characters"""
        return "ééé"

    def uses_half_a_character(tokenizer):
        """… A lone surrogate"""
        return "\ud83d"

    def returns_the_two_figures(tokenizer):
        """… is a tuple, but a str"""
        return 5, len(tokenizer.encode("λόγος"))
