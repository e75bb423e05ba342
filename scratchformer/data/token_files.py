"""Corpora larger than memory: ids as 16-bit numbers on disk, written as a stream, read in place.

A file begins with 4,096 bytes of JSON that say what its ids mean, so that the two are replaced
together and cannot be mixed up. Where the documents come from is for the caller to say.
"""

import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt16
from torch import Tensor

from scratchformer.files import atomic_write

FORMAT, HEADER = "scratchformer tokens 1", 4096
EVERY = 2**20  # a killed writer loses at most about so many ids


def text_pieces(path: str | Path, size: int = 2**20) -> Iterator[str]:
    """A UTF-8 text in pieces of about `size` characters, cut before blanks; "-" is stdin.

    GPT-2's tokenizer never joins a blank to what precedes it, so the ids of the pieces are
    those of the whole. A line longer than 8 pieces is cut where it stands. Raises ValueError if
    the file is not UTF-8.
    """
    kept = ""
    source = 0 if path == "-" else path
    with open(source, encoding="utf-8", newline="", closefd=path != "-") as file:
        try:
            while new := file.read(size):
                kept += new
                cut = kept.rfind("\n")
                while cut > 0 and kept[cut - 1].isspace():  # to the start of a row of blanks
                    step = kept[cut - 1] in " \t\r\n"
                    cut = cut - 1 if step else kept.rfind("\n", 0, cut)
                if cut > 0 or len(kept) > 8 * size:
                    cut = cut if cut > 0 else len(kept)
                    yield kept[:cut]
                    kept = kept[cut:]
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text ({error})") from error
    if kept:
        yield kept


def write_tokens(
    folder: str | Path,
    documents: Iterable[str | Iterable[str]],
    tokenizer,
    *,
    validation: float = 0.1,
    source: str = "",
    resume: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> dict:
    """Encode `documents` into train.bin and, the last share `validation` of all ids, val.bin.

    A document is a string or an iterator of its pieces; one is in memory at a time. Between two
    documents stands one end-of-text token, if the tokenizer has one. tokenizer.json is saved
    beside. Files appear whole or not at all; `resume=True` goes on with what a killed call left,
    after it has read again, and compared, the text done before. `on_bytes` hears of each piece.

    Returns the header of train.bin. Raises ValueError for a vocabulary that 16 bits cannot hold,
    for too little text and for a resumed text or tokenizer that is another one; FileExistsError
    if an unfinished call was not to be resumed.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if tokenizer.vocab_size > 2**16:
        raise ValueError(f"vocab_size={tokenizer.vocab_size}, expected at most 65536")
    if not 0 <= validation < 1:
        raise ValueError(f"validation={validation}, expected 0 <= validation < 1")
    fast = hasattr(tokenizer, "to_tiktoken")  # the same ids, sooner
    encode = tokenizer.to_tiktoken().encode_ordinary if fast else tokenizer.encode
    end = getattr(tokenizer, "special_tokens", {}).get("<|endoftext|>")
    before = {"tokenizer": fingerprint(tokenizer), "pieces": 0, "tokens": 0, "text": ""}
    part, progress = folder / ".tokens.part", folder / ".tokens.json"
    if part.exists() and not resume:
        raise FileExistsError(f"{part} is of an unfinished run: resume it, or delete the file")
    if not part.exists():
        progress.unlink(missing_ok=True)  # of a call killed in its very last step
    elif progress.exists():
        left = json.loads(progress.read_text(encoding="utf-8"))
        if part.stat().st_size >= HEADER + 2 * left["tokens"]:  # or it was being finished: anew
            if left["tokenizer"] != before["tokenizer"]:
                raise ValueError(f"{part} was begun with another tokenizer, expected the same one")
            before = left

    text, number, tokens, saved = hashlib.sha256(), 0, before["tokens"], before["tokens"]
    with part.open("ab") as file:
        file.truncate(HEADER + 2 * tokens)  # cuts off what was not recorded, or makes room
        for number, (begins, piece) in enumerate(_pieces(documents), 1):
            data = piece.encode("utf-8", "surrogatepass")
            text.update(b"\0" * (begins and number > 1) + data)  # documents parted by a zero
            if number > before["pieces"]:
                ids = [end] * (begins and number > 1 and end is not None) + encode(piece)
                file.write(np.array(ids, dtype="<u2").tobytes())
                tokens += len(ids)
            elif number == before["pieces"] and text.hexdigest() != before["text"]:
                break
            if tokens - saved >= EVERY:
                file.flush()
                os.fsync(file.fileno())  # the ids first, then the record of them
                state = {"pieces": number, "tokens": tokens, "text": text.hexdigest()}
                with atomic_write(progress) as new:
                    new.write_text(json.dumps(before | state), encoding="utf-8")
                saved = tokens
            if on_bytes:
                on_bytes(len(data))
        else:
            number += 1  # to tell the end from a break
    if number <= before["pieces"]:
        raise ValueError(f"{part} was begun with another text, expected the same one")

    n = int((1 - validation) * tokens)  # as in `train_val_split`
    if n < 1:
        part.unlink()
        raise ValueError(f"got {tokens} tokens, too few to train on")
    header = {"format": FORMAT, "split": "train", "tokens": n, "vocab_size": tokenizer.vocab_size}
    header |= {"tokenizer": before["tokenizer"], "text": text.hexdigest(), "source": source[:300]}
    with atomic_write(folder / "tokenizer.json") as new:
        tokenizer.save(new)
    (folder / "val.bin").unlink(missing_ok=True)
    if n < tokens:
        with (
            atomic_write(folder / "val.bin") as new,
            new.open("wb") as val,
            part.open("rb") as file,
        ):
            val.write(_bytes(header | {"split": "val", "tokens": tokens - n}))
            file.seek(HEADER + 2 * n)
            shutil.copyfileobj(file, val)
    with part.open("rb+") as file:
        file.truncate(HEADER + 2 * n)
        file.write(_bytes(header))
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / "train.bin")
    progress.unlink(missing_ok=True)
    return header


def read_header(path: str | Path) -> dict:
    """What a file says of itself; ValueError if it is no token file, or not a whole one."""
    try:
        with open(path, "rb") as file:
            header = json.loads(file.read(HEADER))
        expected = HEADER + 2 * header["tokens"]
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r}, expected {FORMAT!r}")
        if (size := Path(path).stat().st_size) != expected:
            raise ValueError(f"{size:,} bytes, expected {expected:,}")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a whole token file ({error})") from error
    return header


def read_tokens(path: str | Path, tokenizer) -> UInt16[Tensor, " N"]:
    """The ids of a file as a tensor that stays on disk: only what is indexed is read.

    It must not be written to. Raises ValueError if another tokenizer wrote the file, or if it is
    not whole.
    """
    header = read_header(path)
    if header["tokenizer"] != fingerprint(tokenizer):
        raise ValueError(
            f"{path} was written by another tokenizer, of {header['vocab_size']:,} tokens; "
            f"the one given has {tokenizer.vocab_size:,}"
        )
    # Mapped read-only: a private, writable map (torch.from_file) may not exceed the memory.
    ids = np.memmap(path, dtype="<u2", mode="r", offset=HEADER)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(ids)


def fingerprint(tokenizer) -> str:
    """The sha256 of what the tokenizer's `save` writes: the same for tokenizers that are."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder) / "tokenizer.json")
        return hashlib.sha256((Path(folder) / "tokenizer.json").read_bytes()).hexdigest()


def _pieces(documents: Iterable[str | Iterable[str]]) -> Iterator[tuple[bool, str]]:
    """Each piece that is not empty, and whether a document begins with it."""
    for document in documents:
        begins = True
        for piece in [document] if isinstance(document, str) else document:
            if piece:
                yield begins, piece
                begins = False


def _bytes(header: dict) -> bytes:
    return json.dumps(header).encode().ljust(HEADER - 1) + b"\n"
