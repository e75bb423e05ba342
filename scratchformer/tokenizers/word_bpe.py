"""Byte-pair encoding of words, as first published for translation (Sennrich et al. 2016).

Words are what white space separates; a word is its characters and an end-of-word mark. What
lies between words is not kept: decoding puts single spaces there. Characters never seen in
training become the unknown token, and text that spells a mark (`</w>`, `</u>`, `</p>`) is read
as that mark. `ByteBPE` has none of these limits.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from scratchformer.tokenizers.char import check_ids
from scratchformer.tokenizers.merging import apply_merges, learn_merges
from scratchformer.tokenizers.saved import load_json, refuse_surrogates, write_json

UNKNOWN, PADDING, END_OF_WORD = "</u>", "</p>", "</w>"


class WordBPE:
    """Id 0 is the unknown token and id 1 padding. Then come the tokens of the training text, the
    most frequent first; of equally frequent ones, the one seen first. Other programs number the
    same tokens otherwise, for example by length first and by frequency among equally long ones:
    then the tokens of a text agree and their ids do not.

    A merged piece that every later merge swallowed is not a token; met in a new word, it comes
    apart again into the two pieces it was merged from.
    """

    def __init__(self, tokens: list[str], merges: list[tuple[str, str]]):
        for token in tokens:
            refuse_surrogates(token, f"the token {token!r}")
        if not {UNKNOWN, PADDING} <= {*tokens}:
            raise ValueError(f"expected {UNKNOWN} and {PADDING} among the tokens")
        if any("" in pair for pair in merges):
            raise ValueError("a merge has an empty piece, expected two pieces")
        self.tokens = tokens  # id -> token
        self.merges = merges  # in the order they were learned
        self.ids = {token: i for i, token in enumerate(tokens)}
        self._rank: dict[tuple[str, str], int] = {}  # pair -> its place in `merges`
        self._halves: dict[str, tuple[str, str]] = {}  # joined pair -> the pair
        for i, pair in enumerate(merges):
            self._rank.setdefault(pair, i)
            self._halves.setdefault("".join(pair), pair)
        self._cache: dict[str, list[str]] = {}  # word -> its tokens

    @classmethod
    def train(cls, text: str, num_merges: int = 4000) -> "WordBPE":
        """Learn at most `num_merges` merges; fewer if every word has become one token.

        Raises ValueError for a text that cannot be saved.
        """
        if num_merges < 0:
            raise ValueError(f"num_merges={num_merges}; expected 0 or more")
        refuse_surrogates(text, "the text")
        table = Counter(text.split())
        words, counts = [[*word, END_OF_WORD] for word in table], list(table.values())
        steps = learn_merges(words, counts)
        merges = [pair for _, pair in zip(range(num_merges), steps, strict=False)]
        frequency: Counter[str] = Counter()  # token -> occurrences, in order of first sight
        for word, n in zip(words, counts, strict=True):
            for token in word:
                frequency[token] += n
        known = [token for token, _ in frequency.most_common() if token not in (UNKNOWN, PADDING)]
        return cls([UNKNOWN, PADDING, *known], merges)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, unknown and padding included."""
        return len(self.tokens)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of `text` as strings."""
        tokens = []
        for word in text.split():
            if word not in self._cache:
                known = (self._known(piece) for piece in self.pieces(word))
                self._cache[word] = [token for part in known for token in part]
            tokens += self._cache[word]
        return tokens

    def pieces(self, word: str) -> list[str]:
        """What the merges, in learned order, make of one word, whether or not it is a token."""
        rank = self._rank.get
        return apply_merges([*word, END_OF_WORD], lambda left, right: rank((left, right)))

    def _known(self, piece: str) -> list[str]:
        if piece in self.ids:
            return [piece]
        if piece not in self._halves:
            return [UNKNOWN]
        left, right = self._halves[piece]
        return self._known(left) + self._known(right)

    def encode(self, text: str) -> list[int]:
        """The ids of the tokens of `text`."""
        return [self.ids[token] for token in self.tokenize(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """Words joined by single spaces; padding is left out, an unknown shows as `</u>`."""
        ids = check_ids(ids, self.vocab_size)
        text = "".join(self.tokens[i] for i in ids if self.tokens[i] != PADDING)
        return text.replace(END_OF_WORD, " ").rstrip(" ")

    def save(self, path: str | Path) -> None:
        """Write readable JSON."""
        write_json(path, "WordBPE", {"tokens": self.tokens, "merges": self.merges})

    @classmethod
    def load(cls, path: str | Path) -> "WordBPE":
        """Read what `save` wrote; ValueError for another or a damaged file."""

        def make(tokens: list[str], merges: list[list[str]]) -> "WordBPE":
            return cls(tokens, [(left, right) for left, right in merges])

        return load_json(path, "WordBPE", make, "tokens", "merges")
