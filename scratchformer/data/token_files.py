"""Corpora larger than memory: ids as 16-bit numbers on disk, written as a stream, read in place.

A file begins with 4,096 bytes of JSON that say what its ids mean, so that the two are replaced
together and cannot be mixed up. Where the documents come from is for the caller to say.
"""

import errno
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import UInt16
from torch import Tensor

from scratchformer.files import atomic_write, locked, remove_parts

FORMAT, HEADER = "scratchformer tokens 1", 4096
EVERY = 2**20  # a killed writer loses at most about so many ids
IDS, RECORD = ".tokens.part", ".tokens.json"  # of an unfinished call: all ids, and how many count
NEW_TOKENIZER, NEW_VAL = ".tokens.tokenizer.json", ".tokens.val"  # written, not yet in their place
NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def text_pieces(path: str | Path, size: int = 2**20) -> Iterator[str]:
    """A UTF-8 text in pieces of about `size` characters, cut before blanks; "-" is stdin.

    GPT-2's tokenizer never joins a blank to what precedes it, so the ids of the pieces are those
    of the text. A line longer than 8 pieces is cut where it stands. A byte order mark at the
    beginning is not part of the text. Raises ValueError if the file is not UTF-8.
    """
    rest = ""  # what has been read and not yielded
    source = 0 if path == "-" else path
    with open(source, encoding="utf-8-sig", newline="", closefd=path != "-") as file:
        try:
            while new := file.read(size):
                rest += new
                cut = rest.rfind("\n")
                while cut > 0 and rest[cut - 1].isspace():  # to the start of a row of blanks
                    step = rest[cut - 1] in " \t\r\n"
                    cut = cut - 1 if step else rest.rfind("\n", 0, cut)
                if cut > 0 or len(rest) > 8 * size:
                    cut = cut if cut > 0 else len(rest)
                    yield rest[:cut]
                    rest = rest[cut:]
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text ({error})") from error
    if rest:
        yield rest


def write_tokens(
    folder: str | Path,
    documents: Iterable[str | Iterable[str]],
    tokenizer,
    *,
    validation: float = 0.1,
    source: str = "",
    resume: bool = False,
    overwrite: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> dict:
    """Encode `documents` into train.bin and, the last share `validation` of all ids, val.bin.

    A document is a string or an iterator of its pieces; one is in memory at a time. Between two
    documents stands one end-of-text token, if the tokenizer has one. tokenizer.json is saved
    beside. `on_bytes` hears of each piece.

    The files change together, after all of them have been written: an error before that, such as
    a full disk, leaves the older ones as they are. `resume=True` goes on with what a stopped call
    has recorded, after it has read again, and compared, the text done before.

    Returns the header of train.bin. Raises ValueError for a vocabulary that 16 bits cannot hold,
    for too little text and for a resumed text or tokenizer that is another one; FileExistsError
    if the folder holds token files, or an unfinished call's, and neither `resume` nor `overwrite`
    says what to do; OSError if the disk is full, or another process is writing to the folder.
    """
    folder = Path(folder)
    if tokenizer.vocab_size > 2**16:
        raise ValueError(f"vocab_size={tokenizer.vocab_size}, expected at most 65536")
    if not 0 <= validation < 1:
        raise ValueError(f"validation={validation}, expected 0 <= validation < 1")
    with locked(folder):
        begun = _begin(folder, fingerprint(tokenizer), resume, overwrite)
        return _write_set(folder, documents, tokenizer, begun, validation, source, on_bytes)


def _write_set(
    folder: Path,
    documents: Iterable[str | Iterable[str]],
    tokenizer,
    begun: "_Progress",
    validation: float,
    source: str,
    on_bytes: Callable[[int], None] | None,
) -> dict:
    """Write the ids, then put all files in place; returns the header of train.bin."""
    try:
        done = _write_ids(folder, documents, tokenizer, begun, on_bytes)
        n = int((1 - validation) * done.tokens)  # as in `train_val_split`
        if n < 1:
            (folder / RECORD).unlink()
            raise ValueError(f"got {done.tokens} tokens, too few to train on")
        header = {"format": FORMAT, "split": "train", "tokens": n}
        header |= {"vocab_size": tokenizer.vocab_size, "tokenizer": done.tokenizer}
        header |= {"text": done.text, "source": source[:300]}
        _put_in_place(folder, tokenizer, header, done.tokens - n)
        return header
    except BaseException as error:
        if not (folder / RECORD).exists():  # there is nothing to go on with
            (folder / IDS).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            again = " with resume" if (folder / RECORD).exists() else ""
            raise OSError(
                error.errno,
                f"no room on the disk for the token files in {folder}; older ones are as they "
                f"were. Make room, and call again{again}",
            ) from error
        raise


class _Progress(NamedTuple):
    """What is on the disk for certain: pieces of text and ids done, and the text's sha256."""

    tokenizer: str  # its fingerprint
    pieces: int = 0
    tokens: int = 0
    text: str = ""


def _begin(folder: Path, tokenizer: str, resume: bool, overwrite: bool) -> _Progress:
    """What to go on from, after a look at what the folder holds."""
    ids, record = folder / IDS, folder / RECORD
    for name in (RECORD, NEW_TOKENIZER, NEW_VAL):
        remove_parts(folder / name)
    if ids.exists() and record.exists():
        if resume:
            left = _read_record(record)
            if ids.stat().st_size >= HEADER + 2 * left.tokens:  # or it was cut to train.bin: anew
                if left.tokenizer != tokenizer:
                    raise ValueError(f"{ids} was begun with another tokenizer, expected the same")
                return left
        elif not overwrite:
            raise FileExistsError(f"{ids} is of an unfinished run: resume it, or overwrite it")
    if (folder / "train.bin").exists() and not overwrite and not (resume and record.exists()):
        raise FileExistsError(
            f"{folder} holds token files already: overwrite them, or choose another folder"
        )
    for name in (RECORD, IDS, NEW_TOKENIZER, NEW_VAL):
        (folder / name).unlink(missing_ok=True)
    return _Progress(tokenizer)


def _read_record(path: Path) -> _Progress:
    try:
        return _Progress(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}): overwrite the folder") from error


def _write_ids(
    folder: Path,
    documents: Iterable[str | Iterable[str]],
    tokenizer,
    begun: _Progress,
    on_bytes: Callable[[int], None] | None,
) -> _Progress:
    """Append the ids of all documents, those aside that `begun` counts, and record them."""
    fast = hasattr(tokenizer, "to_tiktoken")  # the same ids, sooner
    encode = tokenizer.to_tiktoken().encode_ordinary if fast else tokenizer.encode
    end = getattr(tokenizer, "special_tokens", {}).get("<|endoftext|>")
    text, number, done = hashlib.sha256(), 0, begun
    tokens = begun.tokens
    other_text = f"{folder / IDS} was begun with another text, expected the same"

    def record() -> _Progress:
        file.flush()
        os.fsync(file.fileno())  # the ids first, then the record of them
        progress = _Progress(begun.tokenizer, number, tokens, text.hexdigest())
        with atomic_write(folder / RECORD) as new:
            new.write_text(json.dumps(progress._asdict()), encoding="utf-8")
        return progress

    with (folder / IDS).open("ab") as file:
        file.truncate(HEADER + 2 * tokens)  # cuts off what was not recorded, or makes room
        for number, (begins, piece) in enumerate(_pieces(documents), 1):
            data = piece.encode("utf-8", "surrogatepass")
            follows = begins and number > 1  # a document after another one
            text.update(b"\0" * follows + data)
            if number > begun.pieces:
                ids = [end] * (follows and end is not None) + encode(piece)
                file.write(np.array(ids, dtype="<u2").tobytes())
                tokens += len(ids)
            elif number == begun.pieces and text.hexdigest() != begun.text:
                raise ValueError(other_text)
            if tokens - done.tokens >= EVERY:
                done = record()
            if on_bytes:
                on_bytes(len(data))
        if number < begun.pieces:
            raise ValueError(other_text)
        return record()


def _put_in_place(folder: Path, tokenizer, header: dict, val_tokens: int) -> None:
    """Make tokenizer.json, val.bin and train.bin of the ids: all are written, then all renamed.

    The old train.bin is removed before the other files change, and the new one is put in its place
    after them. So a folder with a train.bin holds the files of one call and no mixture of two. A
    call that is killed in between can be resumed.
    """
    ids, train, val = folder / IDS, folder / "train.bin", folder / "val.bin"
    end_of_train = HEADER + 2 * header["tokens"]
    with ids.open("rb+") as file:
        file.write(_bytes(header))
        file.flush()
        os.fsync(file.fileno())
    tokenizer.save(folder / NEW_TOKENIZER)
    if val_tokens:
        with (
            atomic_write(folder / NEW_VAL) as new,
            new.open("wb") as target,
            ids.open("rb") as file,
        ):
            target.write(_bytes(header | {"split": "val", "tokens": val_tokens}))
            file.seek(end_of_train)
            shutil.copyfileobj(file, target)

    train.unlink(missing_ok=True)  # from here on, nothing needs room on the disk
    (folder / NEW_TOKENIZER).replace(folder / "tokenizer.json")
    if val_tokens:
        (folder / NEW_VAL).replace(val)
    else:
        val.unlink(missing_ok=True)
    os.truncate(ids, end_of_train)
    ids.replace(train)
    (folder / RECORD).unlink(missing_ok=True)


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
