"""Right and plausibly wrong answers to the exercises of chapter 1."""

import re
from collections import Counter, defaultdict
from itertools import combinations, pairwise

from mutation import GIVEN, mutant, solution

COUNT, MERGE, ENCODE = "bpe.count_pairs", "bpe.merge_pair", "bpe.encode_word"
COSTLY, DECODE = "bpe.costly_text", "bpe.decode_tokens"


# 1.1 count_pairs


@solution(COUNT)
def _(words):
    counts = {}
    for word, count in words.items():
        for i in range(len(word) - 1):
            pair = (word[i], word[i + 1])
            counts[pair] = counts.get(pair, 0) + count
    return counts


@solution(COUNT)
def _(words):
    counts = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


@solution(COUNT)
def _(words):
    counts = defaultdict(int)
    for word in words:
        for pair in pairwise(word):
            counts[pair] += words[word]
    return counts


def counted(words, pairs, weight=lambda count: count):
    counts = Counter()
    for word, count in words.items():
        for pair in pairs(word):
            counts[pair] += weight(count)
    return dict(counts)


@mutant(COUNT, "ignores how often a word occurs", "seen 3 times adds 3")
def _(words):
    return counted(words, pairwise, lambda count: 1)


@mutant(COUNT, "counts a pair once a word", "occurs twice in a word counts twice")
def _(words):
    return counted(words, lambda word: set(pairwise(word)))


@mutant(COUNT, "pairs pieces across words", "with the first of the next")
def _(words):
    stream = [(piece, count) for word, count in words.items() for piece in word]
    counts = Counter()
    for (a, _), (b, count) in pairwise(stream):
        counts[a, b] += count
    return dict(counts)


@mutant(COUNT, "misses the last pair", "The last pair of each word is missed")
def _(words):
    return counted(words, lambda word: [(word[i], word[i + 1]) for i in range(len(word) - 2)])


@mutant(COUNT, "misses the first pair", "The first pair of each word is missed")
def _(words):
    return counted(words, lambda word: [(word[i], word[i + 1]) for i in range(1, len(word) - 1)])


@mutant(COUNT, "writes each pair the wrong way round", "Each pair is reversed")
def _(words):
    return counted(words, lambda word: [(b, a) for a, b in pairwise(word)])


@mutant(COUNT, "sorts the two pieces", "their order matters")
def _(words):
    return counted(words, lambda word: [tuple(sorted(pair)) for pair in pairwise(word)])


@mutant(COUNT, "pairs a piece with the next but one", "next but one")
def _(words):
    return counted(words, lambda word: zip(word[:-2], word[2:], strict=True))


@mutant(COUNT, "pairs every two pieces of a word", "not neighbours")
def _(words):
    return counted(words, lambda word: combinations(word, 2))


@mutant(COUNT, "keeps the last word's count instead of adding", "replaces the earlier one")
def _(words):
    counts = {}
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] = count
    return counts


@mutant(COUNT, "joins each pair into one string", "but a tuple such as")
def _(words):
    return counted(words, lambda word: [a + b for a, b in pairwise(word)])


@mutant(COUNT, "looks one past the end", "looks past the last piece")
def _(words):
    return counted(words, lambda word: [(word[i], word[i + 1]) for i in range(len(word))])


@mutant(COUNT, "fails on a word of one piece", "of one piece has no pairs")
def _(words):
    return counted(words, lambda word: [(word[0], word[1]), *pairwise(word[1:])])


@mutant(COUNT, "returns a list of pairs and counts", "is a list, but a dict")
def _(words):
    return list(counted(words, pairwise).items())


# 1.2 merge_pair


@solution(MERGE)
def _(word, pair):
    merged, i = [], 0
    while i < len(word):
        if word[i : i + 2] == pair:
            merged.append(word[i] + word[i + 1])
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@solution(MERGE)
def merge_recursively(word, pair):
    if word[:2] == pair:
        return ("".join(pair), *merge_recursively(word[2:], pair))
    return (word[0], *merge_recursively(word[1:], pair)) if word else ()


@mutant(MERGE, "joins the first occurrence only", "join every occurrence")
def _(word, pair):
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return (*word[:i], "".join(pair), *word[i + 2 :])
    return word


@mutant(MERGE, "uses a piece in two joins", "One piece is used in two joins")
def _(word, pair):
    merged, joined = [], False
    for i in range(len(word)):
        now = word[i : i + 2] == pair
        if now:
            merged.append("".join(pair))
        elif not joined:
            merged.append(word[i])
        joined = now
    return tuple(merged)


@mutant(MERGE, "replaces text instead of pieces", "compare whole pieces")
def _(word, pair):
    return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split())


@mutant(MERGE, "replaces text, guarded on the left only", "only begins with `c`")
def _(word, pair):
    return tuple(re.sub(r"(?<!\S)" + " ".join(pair), "".join(pair), " ".join(word)).split())


@mutant(MERGE, "compares the joined letters", "not letters")
def _(word, pair):
    merged, i = [], 0
    while i < len(word):
        if "".join(word[i : i + 2]) == "".join(pair) and i + 1 < len(word):
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@mutant(MERGE, "goes from right to left", "from left to right")
def _(word, pair):
    merged, i = [], len(word) - 1
    while i >= 0:
        if i and word[i - 1 : i + 1] == pair:
            merged.append("".join(pair))
            i -= 2
        else:
            merged.append(word[i])
            i -= 1
    return tuple(reversed(merged))


@mutant(MERGE, "joins the whole word", "The whole word is joined")
def _(word, pair):
    return ("".join(word),) if pair in pairwise(word) else word


@mutant(MERGE, "drops the last piece", "pieces after the pair are lost")
def _(word, pair):
    merged, i = [], 0
    while i < len(word) - 1:
        if word[i : i + 2] == pair:
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@mutant(MERGE, "misses a pair at the end", "at the end of the word is not joined")
def _(word, pair):
    merged, i = [], 0
    while i < len(word):
        if i < len(word) - 2 and word[i : i + 2] == pair:
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@mutant(MERGE, "keeps the second piece of the pair", "second piece stays behind")
def _(word, pair):
    return tuple("".join(pair) if word[i : i + 2] == pair else word[i] for i in range(len(word)))


@mutant(MERGE, "looks one past the end", "looks past the last piece")
def _(word, pair):
    merged, i = [], 0
    while i < len(word):
        if (word[i], word[i + 1]) == pair:
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@mutant(MERGE, "looks one past the end where the first piece fits", "looks past the last piece")
def _(word, pair):
    merged, i = [], 0
    while i < len(word):
        if word[i] == pair[0] and word[i + 1] == pair[1]:
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@mutant(MERGE, "accepts the pair in either order", "order matters")
def _(word, pair):
    merged, i = [], 0
    while i < len(word):
        if word[i : i + 2] in (pair, pair[::-1]):
            merged.append("".join(word[i : i + 2]))
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


@mutant(MERGE, "finds nothing: compares a tuple with a string", "nothing is joined")
def _(word, pair):
    return tuple("".join(pair) if piece == "".join(pair) else piece for piece in word)


@mutant(MERGE, "returns a list", "is a list, but a tuple")
def _(word, pair):
    return list(merge_recursively(word, pair))


# 1.3 encode_word


def merged(tokens, pair):
    return list(merge_recursively(tuple(tokens), pair))


@solution(ENCODE)
def _(word, merges):
    tokens = [*word, "</w>"]
    for pair in merges:
        i = 0
        while i < len(tokens) - 1:
            if (tokens[i], tokens[i + 1]) == pair:
                tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
            i += 1
    return tokens


@solution(ENCODE)
def _(word, merges):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    tokens = [*word, "</w>"]
    while True:
        known = [pair for pair in pairwise(tokens) if pair in ranks]
        if not known:
            return tokens
        tokens = merged(tokens, min(known, key=ranks.get))


@mutant(ENCODE, "cuts out the longest known token, left to right", "longest known token")
def _(word, merges):
    known, tokens = {a + b for a, b in merges}, []
    word = [*word, "</w>"]
    while word:
        size = next(n for n in range(len(word), 0, -1) if n == 1 or "".join(word[:n]) in known)
        tokens.append("".join(word[:size]))
        word = word[size:]
    return tokens


@mutant(ENCODE, "cuts out the longest known token anywhere first", "longest known token")
def _(word, merges):
    def cut(pieces):
        for token in sorted((a + b for a, b in merges), key=len, reverse=True):
            for i in range(len(pieces)):
                for j in range(i + 1, len(pieces) + 1):
                    if "".join(pieces[i:j]) == token:
                        return [*cut(pieces[:i]), token, *cut(pieces[j:])]
        return pieces

    return cut([*word, "</w>"])


@mutant(ENCODE, "merges the leftmost pair it knows", "take the pair that was learned first")
def _(word, merges):
    tokens = [*word, "</w>"]
    while True:
        known = [i for i in range(len(tokens) - 1) if (tokens[i], tokens[i + 1]) in merges]
        if not known:
            return tokens
        i = known[0]
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]


@mutant(ENCODE, "forgets the end of the word", "The end of the word is missing")
def _(word, merges):
    tokens = list(word)
    for pair in merges:
        tokens = merged(tokens, pair)
    return tokens


@mutant(ENCODE, "glues `</w>` to the last character", "a piece of its own")
def _(word, merges):
    tokens = [*word[:-1], word[-1] + "</w>"]
    for pair in merges:
        tokens = merged(tokens, pair)
    return tokens


@mutant(ENCODE, "takes `</w>` apart", "one piece, not four")
def _(word, merges):
    tokens = list(word + "</w>")
    for pair in merges:
        tokens = merged(tokens, pair)
    return tokens


@mutant(ENCODE, "applies the merges in reverse order", "in the order they were learned")
def _(word, merges):
    tokens = [*word, "</w>"]
    for pair in reversed(merges):
        tokens = merged(tokens, pair)
    return tokens


@mutant(ENCODE, "applies each merge once only", "applied once only")
def _(word, merges):
    tokens = [*word, "</w>"]
    for pair in merges:
        for i in range(len(tokens) - 1):
            if (tokens[i], tokens[i + 1]) == pair:
                tokens[i : i + 2] = ["".join(pair)]
                break
    return tokens


@mutant(ENCODE, "drops characters no merge knows", "no merge knows are dropped")
def _(word, merges):
    known = {character for pair in merges for character in "".join(pair)}
    tokens = [*(character for character in word if character in known), "</w>"]
    for pair in merges:
        tokens = merged(tokens, pair)
    return tokens


@mutant(ENCODE, "adds `</w>` after the merges", "Merges with `</w>` are not applied")
def _(word, merges):
    tokens = list(word)
    for pair in merges:
        tokens = merged(tokens, pair)
    return [*tokens, "</w>"]


@mutant(ENCODE, "applies no merge", "No merge is applied")
def _(word, merges):
    return [*word, "</w>"]


# 1.5 costly_text


class SmallTokenizer:
    """Byte-level and lossless, with merges for a few common English bytes."""

    merges = (
        (b"t", b"h"),
        (b"th", b"e"),
        (b" ", b"the"),
        (b"e", b"r"),
        ("é".encode()[:1], b"\xa9"),
    )

    def encode(self, text):
        tokens = [bytes([byte]) for byte in text.encode("utf-8")]
        for pair in self.merges:
            i = 0
            while i < len(tokens) - 1:
                if (tokens[i], tokens[i + 1]) == pair:
                    tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
                i += 1
        table = [*(bytes([byte]) for byte in range(256)), *(a + b for a, b in self.merges)]
        return [table.index(token) for token in tokens]

    def decode(self, ids):
        table = [*(bytes([byte]) for byte in range(256)), *(a + b for a, b in self.merges)]
        return b"".join(table[i] for i in ids).decode("utf-8", errors="replace")


GIVEN[COSTLY] = (SmallTokenizer(),)


@solution(COSTLY)
def _(tokenizer):
    return "λόγος"


@solution(COSTLY)
def _(tokenizer):
    every = (chr(code) for code in range(0x4E00, 0x9FFF))
    return max((next(every) for _ in range(50)), key=lambda text: len(tokenizer.encode(text)))


@mutant(COSTLY, "writes plain English", "characters is one byte")
def _(tokenizer):
    return "to be or not to be"


@mutant(COSTLY, "writes letters the tokenizer never merged", "one token at most")
def _(tokenizer):
    return "qzxqzx"


@mutant(COSTLY, "returns an empty text", "The text is empty")
def _(tokenizer):
    return ""


@mutant(COSTLY, "returns a text that is too long", "20 are the most allowed")
def _(tokenizer):
    return "λόγος" * 5


@mutant(COSTLY, "returns the tokens", "Return the text itself")
def _(tokenizer):
    return tokenizer.encode("λόγος")


@mutant(COSTLY, "returns the bytes", "is a bytes, but a str")
def _(tokenizer):
    return "λόγος".encode()


@mutant(COSTLY, "needs exactly as many tokens as characters", "More tokens than characters")
def _(tokenizer):
    return "ééé"


@mutant(COSTLY, "uses half a character", "A lone surrogate")
def _(tokenizer):
    return "\ud83d"


@mutant(COSTLY, "returns the two figures", "is a tuple, but a str")
def _(tokenizer):
    return 5, len(tokenizer.encode("λόγος"))


# 1.4 decode_tokens


@solution(DECODE)
def _(tokens):
    return b"".join(tokens).decode("utf-8", errors="replace")


@solution(DECODE)
def _(tokens):
    everything = bytearray()
    for token in tokens:
        everything += token
    return str(everything, "utf-8", "replace")


@mutant(DECODE, "decodes token by token", "join the bytes first")
def _(tokens):
    return "".join(token.decode("utf-8", errors="replace") for token in tokens)


@mutant(DECODE, "decodes token by token and ignores errors", "join the bytes first")
def _(tokens):
    return "".join(token.decode("utf-8", errors="ignore") for token in tokens)


@mutant(DECODE, "decodes token by token, strictly", "join the bytes first")
def _(tokens):
    return "".join(token.decode() for token in tokens)


@mutant(DECODE, "ignores errors", "vanish without a trace")
def _(tokens):
    return b"".join(tokens).decode("utf-8", errors="ignore")


@mutant(DECODE, "decodes strictly", "A model may choose any bytes")
def _(tokens):
    return b"".join(tokens).decode("utf-8")


@mutant(DECODE, "shows bad bytes as escapes", "A model may choose any bytes")
def _(tokens):
    return b"".join(tokens).decode("utf-8", errors="backslashreplace")


@mutant(DECODE, "takes the bytes for Latin-1", "not Latin-1")
def _(tokens):
    return b"".join(tokens).decode("latin-1")


@mutant(DECODE, "takes the bytes for ASCII", "not ASCII")
def _(tokens):
    return b"".join(tokens).decode("ascii", errors="replace")


@mutant(DECODE, "takes the bytes for UTF-16", "not UTF-16")
def _(tokens):
    return b"".join(tokens).decode("utf-16", errors="replace")


@mutant(DECODE, "calls `str` on the bytes", "shows them as code")
def _(tokens):
    return str(b"".join(tokens))


@mutant(DECODE, "joins with spaces", "A space is put between")
def _(tokens):
    return b" ".join(tokens).decode("utf-8", errors="replace")


@mutant(DECODE, "returns the joined bytes", "is a bytes, but a str")
def _(tokens):
    return b"".join(tokens)
