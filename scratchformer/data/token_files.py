"""Corpora larger than memory: ids as 16-bit numbers on disk, written as a stream, read in place.

A file begins with 4,096 bytes of JSON that say what its ids mean, so that the two are replaced
together and cannot be mixed up. Where the documents come from is for the caller to say.
"""

import codecs
import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from jaxtyping import UInt16
from torch import Tensor

from scratchformer.data.folders import PARTIAL_FOLDER, TOKEN_FILES, names_in, refuse_another_owner
from scratchformer.files import locked

FORMAT, HEADER = "scratchformer tokens 1", 4096
LONG_BLANK = re.compile(r"\s{100000}")
NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def text_pieces(path: str | Path, size: int = 2**20) -> Iterator[str]:
    """A UTF-8 text in pieces of about `size` bytes, cut before blanks.

    GPT-2's tokenizer never joins a blank to what precedes it, so the ids of the pieces are those
    of the text. A line longer than 8 pieces is cut where it stands. A byte order mark at the
    beginning is not part of the text. Raises ValueError, with the place, if the file is not UTF-8
    or holds a byte 0: then it is no text, or UTF-16.
    """
    rest = ""  # what has been read and not yielded
    with open(path, "rb") as file:
        for new in _decoded(file, path, size):
            rest += new
            cut = rest.rfind("\n")
            while cut > 0 and rest[cut - 1].isspace():  # to the start of a row of blanks
                step = rest[cut - 1] in " \t\r\n"
                cut = cut - 1 if step else rest.rfind("\n", 0, cut)
            if cut > 0 or len(rest) > 8 * size:
                cut = cut if cut > 0 else len(rest)
                yield rest[:cut]
                rest = rest[cut:]
    if rest:
        yield rest


def _decoded(file: BinaryIO, path: str | Path, size: int) -> Iterator[str]:
    """The characters of a UTF-8 file, `size` bytes at a time."""
    decoder, read, data = codecs.getincrementaldecoder("utf-8-sig")(), 0, b"-"
    while data:
        data = file.read(size)
        if (zero := data.find(b"\0")) >= 0:
            raise ValueError(f"{path} is not UTF-8 text: byte {read + zero:,} is 0")
        read += len(data)
        try:
            yield decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:  # it counts from the last character that was whole
            place = read - len(error.object) + error.start
            what = f"byte {place:,} is {error.object[error.start]:#04x}, {error.reason}"
            raise ValueError(f"{path} is not UTF-8 text: {what}") from error


def write_tokens(
    folder: str | Path,
    documents: Iterable[str | Iterable[str]],
    tokenizer,
    *,
    validation: float = 0.1,
    source: str = "",
    overwrite: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> dict:
    """Encode `documents` into train.bin and, the last share `validation` of all ids, val.bin.

    A document is a string or an iterator of its pieces; one is in memory at a time. Between two
    documents stands one end-of-text token, if the tokenizer has one. tokenizer.json is saved
    beside. `on_bytes` hears of each piece.

    The files are put in their place together, after all of them have been written: an error before
    that, such as a full disk, or a kill leaves the older ones as they are.

    Returns the header of train.bin. Raises ValueError for a vocabulary that 16 bits cannot hold and
    for too little text; FileExistsError if a file would be replaced, unless `overwrite` is
    set, or if the folder holds a run; OSError if the disk is full, or another process is writing
    to the folder.
    """
    folder = Path(folder)
    if tokenizer.vocab_size > 2**16:
        raise ValueError(f"vocab_size={tokenizer.vocab_size}, expected at most 65536")
    if not 0 <= validation < 1:
        raise ValueError(f"validation={validation}, expected 0 <= validation < 1")
    refuse_another_owner(folder, "token files")
    with locked(folder):
        refuse_another_owner(folder, "token files")  # nobody has written since
        if not overwrite and (held := names_in(folder, TOKEN_FILES)):
            what = "token files" if "train.bin" in held else f"a {held[0]}"
            raise FileExistsError(
                f"{folder} holds {what} already: overwrite them, or choose another folder"
            )
        partial = folder / PARTIAL_FOLDER
        shutil.rmtree(partial, ignore_errors=True)  # of a call that was killed
        try:
            partial.mkdir()
            header = _write_parts(partial, documents, tokenizer, validation, source, on_bytes)
            _put_in_place(partial, folder)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise OSError(
                error.errno,
                f"no room on the disk for the token files in {folder}; older ones are as they "
                "were. Make room, and call again",
            ) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return header


def _write_parts(
    partial: Path,
    documents: Iterable[str | Iterable[str]],
    tokenizer,
    validation: float,
    source: str,
    on_bytes: Callable[[int], None] | None,
) -> dict:
    """Write train.bin, val.bin and tokenizer.json to a folder; returns the header of train.bin."""
    train, val = partial / "train.bin", partial / "val.bin"
    with train.open("wb+") as file:  # all ids, until one knows how many there are
        file.seek(HEADER)
        tokens, text = _write_ids(file, documents, tokenizer, on_bytes)
        n = int((1 - validation) * tokens)  # as in `train_val_split`
        if n < 1:
            raise ValueError(f"got {tokens} tokens, too few to train on")
        header = {"format": FORMAT, "split": "train", "tokens": n}
        header |= {"vocab_size": tokenizer.vocab_size, "tokenizer": fingerprint(tokenizer)}
        header |= {"text": text, "source": source[:300]}
        end = HEADER + 2 * n
        if n < tokens:
            with val.open("wb") as target:
                target.write(_bytes(header | {"split": "val", "tokens": tokens - n}))
                file.seek(end)
                shutil.copyfileobj(file, target)
                _sync(target)
        file.truncate(end)
        file.seek(0)
        file.write(_bytes(header))
        _sync(file)
    tokenizer.save(partial / "tokenizer.json")
    return header


def _write_ids(
    file: BinaryIO,
    documents: Iterable[str | Iterable[str]],
    tokenizer,
    on_bytes: Callable[[int], None] | None,
) -> tuple[int, str]:
    """Write the ids of all documents; returns how many there are, and the text's sha256."""
    encode = _quick_encoder(tokenizer)
    end = getattr(tokenizer, "special_tokens", {}).get("<|endoftext|>")
    tokens, text, is_first = 0, hashlib.sha256(), True
    for begins, piece in _pieces(documents):
        data = piece.encode("utf-8", "surrogatepass")
        follows = begins and not is_first  # a document after another one
        text.update(b"\0" * follows + data)
        ids = [end] * (follows and end is not None) + encode(piece)
        file.write(np.array(ids, dtype="<u2").tobytes())
        tokens, is_first = tokens + len(ids), False
        if on_bytes:
            on_bytes(len(data))
    return tokens, text.hexdigest()


def _quick_encoder(tokenizer) -> Callable[[str], list[int]]:
    """tiktoken's `encode`, the same ids sooner, and the tokenizer's own where that fails.

    It knows no pattern with a look behind, and panics, at length, at a row of a million blanks.
    """
    try:
        quick = tokenizer.to_tiktoken().encode_ordinary
    except Exception:  # there is none, or it refuses the pattern
        return tokenizer.encode

    def encode(text: str) -> list[int]:
        try:
            return tokenizer.encode(text) if LONG_BLANK.search(text) else quick(text)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
            raise
        except BaseException:  # Rust's panics are no Exception
            return tokenizer.encode(text)

    return encode


def _put_in_place(partial: Path, folder: Path) -> None:
    """Move the files of `partial` to `folder`.

    The old train.bin goes before the other files change, and the new one comes after them. So a
    folder with a train.bin holds the files of one call and no mixture of two. Raises
    IsADirectoryError, and changes nothing, if one of the names is a folder's.
    """
    for name in TOKEN_FILES:
        if (folder / name).is_dir():
            raise IsADirectoryError(f"{folder / name} is a folder, expected a file or nothing")
    (folder / "train.bin").unlink(missing_ok=True)  # from here on, nothing needs room on the disk
    (folder / "val.bin").unlink(missing_ok=True)
    for name in TOKEN_FILES:
        if (partial / name).exists():
            (partial / name).replace(folder / name)


def read_header(path: str | Path) -> dict:
    """What a file says of itself; ValueError if it is no token file, or not a complete one."""
    try:
        with open(path, "rb") as file:
            header = json.loads(file.read(HEADER))
        expected = HEADER + 2 * header["tokens"]
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r}, expected {FORMAT!r}")
        if (size := Path(path).stat().st_size) != expected:
            raise ValueError(f"{size:,} bytes, expected {expected:,}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
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


def _sync(file: BinaryIO) -> None:
    """Have the system write the file to the disk, before a name points to it."""
    file.flush()
    os.fsync(file.fileno())


def _bytes(header: dict) -> bytes:
    return json.dumps(header).encode().ljust(HEADER - 1) + b"\n"
