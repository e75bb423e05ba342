"""Byte-pair encoding of bytes, as in GPT-2 (Radford et al. 2019).

Text is cut into chunks by a pattern, each chunk becomes its UTF-8 bytes, and bytes are merged
inside chunks only. 256 byte tokens can write any text, so nothing is ever unknown. A lone
surrogate (half of a UTF-16 pair, which is no character) becomes U+FFFD first, as in tiktoken.
"""

import hashlib
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path

import regex
import tiktoken

from scratchformer.data import Playhouse
from scratchformer.data.gguf import read_gguf
from scratchformer.data.real_model import find_real_model
from scratchformer.files import is_offline
from scratchformer.tokenizers.char import check_ids
from scratchformer.tokenizers.merging import apply_merges, learn_merges
from scratchformer.tokenizers.patterns import GPT2_PATTERN, SMOLLM2_PATTERN
from scratchformer.tokenizers.saved import load_json, refuse_surrogates, write_json

GGUF_PATTERNS = {"smollm": SMOLLM2_PATTERN, "gpt-2": GPT2_PATTERN}  # by llama.cpp's name
ORDINARY, CONTROL = 1, 3  # the kinds of tokens in a GGUF file that are read

BYTES = [bytes([b]) for b in range(256)]
STORE = "https://openaipublic.blob.core.windows.net/"
PUBLISHED = {  # name -> the files that tiktoken downloads for it, each with its sha256
    "gpt2": (
        (
            "gpt-2/encodings/main/vocab.bpe",
            "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
        ),
        (
            "gpt-2/encodings/main/encoder.json",
            "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
        ),
    ),
}


class ByteBPE:
    """A token's id is also its rank: of all adjacent pairs, the one whose join has the lowest id
    is merged first. Special tokens never arise from ordinary text. They have the last ids, or ids
    whose places in `tokens` are theirs, as where a published tokenizer begins with them.

    Without `every_byte` single bytes may lack a token; they are left out of what is encoded.
    """

    def __init__(
        self,
        tokens: list[bytes],
        special_tokens: dict[str, int] | None = None,
        pattern: str = GPT2_PATTERN,
        every_byte: bool = True,
    ):
        self.tokens = tokens  # id -> bytes
        self.special_tokens = special_tokens or {}  # text -> id
        special_ids = set(self.special_tokens.values())
        self.ids = {token: i for i, token in enumerate(tokens) if i not in special_ids}
        self.pattern, self.every_byte = pattern, every_byte
        missing = [b for b in range(256) if BYTES[b] not in self.ids]
        if missing and every_byte:
            raise ValueError(f"bytes {missing[:5]} have no token; expected all 256")
        distinct = len(special_ids) == len(self.special_tokens)
        if not distinct or not special_ids <= set(range(self.vocab_size)):
            expected = list(range(len(tokens), self.vocab_size))
            raise ValueError(f"special tokens {self.special_tokens}; expected the ids {expected}")
        for text in (*self.special_tokens, pattern):
            refuse_surrogates(text, repr(text))
        try:
            self._split = regex.compile(pattern)
        except (regex.error, TypeError, RecursionError) as error:
            raise ValueError(f"{pattern!r:.80} is no pattern: {error}") from error
        if self._split.groups:  # `findall` would give the groups in place of the chunks
            raise ValueError(f"{pattern!r:.80} captures a group; expected (?:…) in place of (…)")
        self._cache: dict[str, list[int]] = {}  # chunk -> its ids

    @classmethod
    def train(
        cls, text: str, vocab_size: int = 512, special_tokens: tuple[str, ...] = ()
    ) -> "ByteBPE":
        """Start from the 256 bytes and merge until there are `vocab_size` tokens, special tokens
        included; fewer if every chunk of `text` has become one token.
        """
        if vocab_size < 256 + len(special_tokens):
            raise ValueError(
                f"vocab_size={vocab_size} is less than 256 bytes + "
                f"{len(special_tokens)} special tokens"
            )
        names = list(special_tokens)
        if isinstance(special_tokens, str) or "" in names or len(set(names)) < len(names):
            raise ValueError(
                f"special_tokens={special_tokens!r}; expected distinct, non-empty names"
            )
        parts = [part for part in _cut(text, names) if part not in names]
        table = Counter(c for part in parts for c in regex.findall(GPT2_PATTERN, _valid(part)))
        words = [[BYTES[b] for b in chunk.encode()] for chunk in table]
        tokens = dict.fromkeys(BYTES)  # an ordered set
        steps = learn_merges(words, list(table.values()))
        while len(tokens) + len(special_tokens) < vocab_size and (pair := next(steps, None)):
            tokens[b"".join(pair)] = None  # two pairs may join to the same bytes: one token
        n = len(tokens)
        return cls(list(tokens), {token: n + i for i, token in enumerate(special_tokens)})

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, special ones included."""
        return len(self.tokens) + sum(i >= len(self.tokens) for i in self.special_tokens.values())

    def encode(self, text: str, allow_special: bool = False) -> list[int]:
        """The ids of `text`. The name of a special token in it is ordinary text, unless
        `allow_special`: text from strangers must not be able to end a document.
        """
        ids: list[int] = []
        for part in _cut(text, self.special_tokens if allow_special else ()):
            if allow_special and part in self.special_tokens:
                ids.append(self.special_tokens[part])
                continue
            chunks = self._split.findall(_valid(part))
            for chunk in set(chunks).difference(self._cache):
                self._cache[chunk] = self._encode_chunk(chunk.encode())
            ids += chain.from_iterable(map(self._cache.__getitem__, chunks))
        return ids

    def _encode_chunk(self, chunk: bytes) -> list[int]:
        if chunk in self.ids:  # a token, even one that no merges lead to
            return [self.ids[chunk]]
        id_of = self.ids.get
        known = (BYTES[b] for b in chunk if self.every_byte or BYTES[b] in self.ids)
        pieces = apply_merges(known, lambda a, b: id_of(a + b))
        return [self.ids[piece] for piece in pieces]

    def token_bytes(self, i: int) -> bytes:
        """The bytes that token `i` stands for."""
        check_ids([i], self.vocab_size)
        if i < len(self.tokens):
            return self.tokens[i]
        return next(name for name, j in self.special_tokens.items() if j == i).encode()

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`: bytes are joined first and read as UTF-8 once, since a character
        may span tokens. Bytes that are no UTF-8 show as U+FFFD.
        """
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")

    def to_tiktoken(self) -> tiktoken.Encoding:
        """The same tokenizer as an encoding of the tiktoken library: the same ids, faster.

        A letter that only one of the two libraries knows, as some of the newest in Unicode, may be
        cut in another place.
        """
        return tiktoken.Encoding(
            "scratchformer",
            pat_str=self.pattern,
            mergeable_ranks=dict(self.ids),
            special_tokens=self.special_tokens,
        )

    @classmethod
    def from_tiktoken(cls, name: str = "gpt2") -> "ByteBPE":
        """A published tokenizer whose ids have no gaps: "gpt2".

        tiktoken keeps the files in `$TIKTOKEN_CACHE_DIR` and downloads what is not there, unless
        SCRATCHFORMER_OFFLINE=1. Raises OSError, which says what to do, when neither works, and
        ValueError for another name.
        """
        if name not in PUBLISHED:
            raise ValueError(f"no tokenizer {name!r}, expected one of {', '.join(PUBLISHED)}")
        folder = _tiktoken_folder()
        try:
            if is_offline():  # tiktoken would go to the network for whatever it does not find
                _check_cached(name, folder)
            encoding = tiktoken.get_encoding(name)
        except OSError as error:  # requests' own exceptions are OSErrors too
            raise OSError(
                f"tiktoken has no copy of {name!r} in {folder} and could not download it "
                f"({type(error).__name__}). Connect once, or set TIKTOKEN_CACHE_DIR to a folder "
                "that holds it."
            ) from error
        special = {t: encoding.encode_single_token(t) for t in encoding.special_tokens_set}
        n = encoding.n_vocab - len(special)
        tokens = [encoding.decode_single_token_bytes(i) for i in range(n)]
        return cls(tokens, special, encoding._pat_str)

    @classmethod
    def pretrained(cls, name: str) -> "ByteBPE":
        """The tokenizer of a real model: "smollm2-135m-instruct", "whisper-tiny.en".

        Errors are those of `find_real_model`.
        """
        if (path := find_real_model(name)).suffix == ".bin":
            return cls.from_vocabulary(path.with_name("vocabulary.txt"))
        return cls.from_gguf(path)

    @classmethod
    def from_vocabulary(cls, path: str | Path) -> "ByteBPE":
        """GPT-2's kind of tokenizer from a list of its tokens, one a line, in GPT-2's letters.

        Lines such as <|endoftext|> are special. Raises ValueError for a list of another kind.
        """
        names, byte_of = Path(path).read_text(encoding="utf-8").split("\n"), _gpt2_alphabet()
        names = names[: len(names) - (names[-1] == "")]
        special = {name: i for i, name in enumerate(names) if regex.fullmatch(r"<\|.+\|>", name)}
        try:
            plain = [bytes(map(byte_of.__getitem__, "" if n in special else n)) for n in names]
        except KeyError as error:
            raise ValueError(f"{path} has the letter {error}, expected GPT-2's") from error
        return cls([p or n.encode() for p, n in zip(plain, names, strict=True)], special)

    @classmethod
    def from_gguf(cls, path: str | Path) -> "ByteBPE":
        """The tokenizer in a GGUF file, if it is of this kind.

        Bytes without a token are left out, as `tokenizers` does it. Raises ValueError for another
        kind of tokenizer, merges in another order than the ids, or another file.
        """
        settings, _ = read_gguf(path)
        kind = settings.get("tokenizer.ggml.model"), str(settings.get("tokenizer.ggml.pre"))
        if kind[0] != "gpt2" or kind[1] not in GGUF_PATTERNS:
            known = ", ".join(GGUF_PATTERNS)
            raise ValueError(f"{path} has the tokenizer {kind}, expected gpt2 with {known}")
        byte_of = _gpt2_alphabet()
        try:
            names = settings["tokenizer.ggml.tokens"]
            kinds = settings["tokenizer.ggml.token_type"]
            special = {name: i for i, name in enumerate(names) if kinds[i] != ORDINARY}
            tokens = [
                name.encode() if name in special else bytes(map(byte_of.__getitem__, name))
                for name in names
            ]
            merges = [
                tuple(bytes(map(byte_of.__getitem__, part)) for part in merge.split(" "))
                for merge in settings["tokenizer.ggml.merges"]
            ]
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} holds no complete tokenizer: {error!r}") from error
        if others := {*kinds} - {ORDINARY, CONTROL}:
            raise ValueError(f"{path} has tokens of the kinds {others}, expected 1 and 3")
        tokenizer = cls(tokens, special, GGUF_PATTERNS[kind[1]], every_byte=False)
        _refuse_other_order(tokenizer.ids, merges, path)
        return tokenizer

    def save(self, path: str | Path) -> None:
        """Write readable JSON: each byte of a token is the character of the same number."""
        write_json(
            path,
            "ByteBPE",
            {
                "pattern": self.pattern,
                "every_byte": self.every_byte,
                "special_tokens": self.special_tokens,
                "tokens": [token.decode("latin-1") for token in self.tokens],
            },
        )

    @classmethod
    def load(cls, path: str | Path) -> "ByteBPE":
        """Read what `save` wrote; ValueError for another or a damaged file."""

        def make(tokens: list[str], *others) -> "ByteBPE":
            return cls([token.encode("latin-1") for token in tokens], *others)

        keys = ("tokens", "special_tokens", "pattern")
        return load_json(path, "ByteBPE", make, *keys, every_byte=True)


def load_gpt2_tokenizer() -> ByteBPE:
    """GPT-2's tokenizer; without its files, a small one trained on Playhouse, and a warning."""
    try:
        return ByteBPE.from_tiktoken("gpt2")
    except OSError as error:
        warnings.warn(
            f"{error} A tokenizer of 1,024 tokens, trained on Playhouse, stands in.", stacklevel=2
        )
        return ByteBPE.train(Playhouse().text(200_000), 1024, ("<|endoftext|>",))


def _refuse_other_order(
    ids: dict[bytes, int], merges: list[tuple[bytes, ...]], path: str | Path
) -> None:
    """Raise ValueError unless merging by ids is merging in the order of the list of `merges`."""
    expected = "expected merges in the order of the ids"
    joins = [ids.get(b"".join(pair), -1) for pair in merges]
    merged_ids = {*joins}
    if joins != sorted(merged_ids) or -1 in merged_ids:
        raise ValueError(f"{path}: its merges have another order than its tokens, {expected}")
    if missing := [token for token, i in ids.items() if len(token) > 1 and i not in merged_ids]:
        raise ValueError(f"{path}: no merge makes the token {missing[0]!r}, {expected}")

    def merged_before(limit: int, a: bytes, b: bytes) -> int | None:
        return i if (i := ids.get(a + b, limit)) < limit else None

    for pair, i in zip(merges, joins, strict=True):
        # the two pieces that are left when all earlier merges are done
        if apply_merges([BYTES[b] for b in b"".join(pair)], partial(merged_before, i)) != [*pair]:
            raise ValueError(f"{path}: the pieces {pair} never meet, {expected}")


def _gpt2_alphabet() -> dict[str, int]:
    """The printable character that stands for each byte in GPT-2's files, and the byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


def _cut(text: str, names: Iterable[str]) -> list[str]:
    """`text` cut before and after every name; of names that begin alike, the longest counts."""
    longest_first = sorted(names, key=len, reverse=True)
    if not longest_first:
        return [text]
    return regex.split(f"({'|'.join(map(regex.escape, longest_first))})", text)


def _valid(text: str) -> str:
    """The text, with U+FFFD in place of each lone surrogate."""
    try:
        text.encode()  # UTF-8 has no surrogates
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _tiktoken_folder() -> Path:
    """Where tiktoken keeps its files."""
    default = Path(tempfile.gettempdir(), "data-gym-cache")
    variables = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
    return Path(next((os.environ[v] for v in variables if v in os.environ), default))


def _check_cached(name: str, folder: Path) -> None:
    """Raise OSError if tiktoken would have to download a file of the tokenizer `name`."""
    for file, sha256 in PUBLISHED[name]:
        path = folder / hashlib.sha1((STORE + file).encode()).hexdigest()  # as tiktoken names it
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise OSError(f"{path} is missing or broken; SCRATCHFORMER_OFFLINE forbids downloads")
