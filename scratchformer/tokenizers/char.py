"""One token a character: the smallest tokenizer there is. It knows no unknown characters."""

from collections.abc import Iterable
from pathlib import Path

from scratchformer.shipped import shipped_folder
from scratchformer.tokenizers.saved import load_json, refuse_surrogates, write_json


class CharTokenizer:
    """Ids are places in the sorted list of the characters of the training text."""

    def __init__(self, characters: str):
        refuse_surrogates(characters, "the characters")
        self.characters = characters  # id -> character
        self.ids = {character: i for i, character in enumerate(characters)}
        if len(self.ids) != len(characters):
            raise ValueError("characters repeat; expected each one once")

    @classmethod
    def train(cls, text: str) -> "CharTokenizer":
        """Collect the distinct characters of `text`; ValueError if one cannot be saved."""
        refuse_surrogates(text, "the text")
        return cls("".join(sorted(set(text))))

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.characters)

    def encode(self, text: str) -> list[int]:
        """One id a character; ValueError names the first character never seen in training."""
        try:
            return [self.ids[character] for character in text]
        except KeyError as error:
            known = f"the {self.vocab_size} known characters"
            raise ValueError(f"character {error.args[0]!r} is not one of {known}") from None

    def decode(self, ids: Iterable[int]) -> str:
        """The text whose ids these are."""
        return "".join(self.characters[i] for i in check_ids(ids, self.vocab_size))

    def save(self, path: str | Path) -> None:
        """Write readable JSON."""
        write_json(path, "CharTokenizer", {"characters": self.characters})

    @classmethod
    def load(cls, path: str | Path) -> "CharTokenizer":
        """Read what `save` wrote; ValueError for another or a damaged file."""
        return load_json(path, "CharTokenizer", cls, "characters")

    @classmethod
    def pretrained(cls, name: str) -> "CharTokenizer":
        """The tokenizer of a shipped model or checkpoints; ValueError for another name."""
        return cls.load(shipped_folder(name) / "tokenizer.json")


def check_ids(ids: Iterable[int], vocab_size: int) -> list[int]:
    """The ids as a list; ValueError if one is outside (a negative one would count from the end)."""
    ids = list(ids)
    for i in ids:
        if not 0 <= i < vocab_size:
            raise ValueError(f"id {i} is outside the vocabulary of {vocab_size} tokens")
    return ids
