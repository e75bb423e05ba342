"""WordPiece, BERT's tokenizer: each word in the longest pieces that the vocabulary has.

Words come first: small letters without accents, cut at white space and around each mark. A piece
inside a word begins with ##. As in BERT, a word of more than 100 characters, or with a character
that no piece has, is one unknown token. A text that spells a special token, such as [MASK], is read
as any other text. Training a vocabulary is not handled here.
"""

import unicodedata
from collections.abc import Iterable

from scratchformer.data.real_model import find_real_model
from scratchformer.tokenizers.char import check_ids

UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
LONGEST = 100  # characters of a word
CHINESE = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)]
CHINESE += [(0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]


class WordPiece:
    """Ids are the lines of the vocabulary, counted from 0."""

    def __init__(self, tokens: list[str]):
        if missing := {UNKNOWN, START, END} - set(tokens):
            raise ValueError(f"expected {min(missing)} among the {len(tokens):,} tokens")
        self.tokens = tokens  # id -> token
        self.ids = {token: i for i, token in enumerate(tokens)}

    @classmethod
    def pretrained(cls, name: str) -> "WordPiece":
        """That of a published model, "all-minilm-l6-v2"; errors are those of `find_real_model`."""
        path = find_real_model(name).with_name("vocab.txt")
        if not path.is_file():
            raise ValueError(f"{name!r} has no WordPiece vocabulary: all-minilm-l6-v2 has one")
        return cls(path.read_text(encoding="utf-8").splitlines())

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, special ones included."""
        return len(self.tokens)

    def pieces(self, word: str) -> list[str]:
        """The longest piece that the vocabulary has, again and again, or [UNK] for all of it."""
        found, start = [], 0
        while start < len(word) <= LONGEST:
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return [UNKNOWN]
            found.append(piece)
            start = end
        return found or [UNKNOWN]

    def encode(self, text: str) -> list[int]:
        """The ids of a text, between [CLS] and [SEP]."""
        tokens = [piece for word in words_of(text) for piece in self.pieces(word)]
        return [self.ids[token] for token in (START, *tokens, END)]

    def decode(self, ids: Iterable[int]) -> str:
        """The pieces joined to words, with spaces between them; small letters stay small."""
        return " ".join(self.tokens[i] for i in check_ids(ids, self.vocab_size)).replace(" ##", "")


def words_of(text: str) -> list[str]:
    """Small letters without accents, cut at white space and around marks."""
    kept = []
    for c in text:
        kind = unicodedata.category(c)
        if c in "\t\n\r" or kind == "Zs":
            kept.append(" ")
        elif c not in "\0\ufffd" and kind[0] != "C":  # C: what controls, and is not seen
            kept.append(f" {c} " if any(a <= ord(c) <= b for a, b in CHINESE) else c)
    plain = unicodedata.normalize("NFD", "".join(kept))
    letters = (c.lower() for c in plain if unicodedata.category(c) != "Mn")  # Mn: accents
    return "".join(f" {c} " if _is_mark(c) else c for c in "".join(letters)).split()


def _is_mark(c: str) -> bool:
    """Whether a character is a word of its own; in ASCII all that is no letter, digit or space."""
    ascii_mark = c.isascii() and not c.isalnum() and not c.isspace()
    return ascii_mark or unicodedata.category(c)[0] == "P"
