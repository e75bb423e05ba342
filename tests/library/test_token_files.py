"""Token files: the ids of the whole text, whatever was cut, killed or resumed, read in place."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scratchformer.data import Playhouse, token_files, train_val_split
from scratchformer.data.batches import random_batch
from scratchformer.data.token_files import read_header, read_tokens, text_pieces, write_tokens
from scratchformer.models import Bigram
from scratchformer.tokenizers import ByteBPE, CharTokenizer, WordBPE
from scratchformer.training import evaluate, train

TEXT = Playhouse().text(20_000)
BPE = ByteBPE.train(TEXT, 400, ("<|endoftext|>",))
CHAR = CharTokenizer.train(TEXT)


def ids_in(folder, tokenizer=BPE):
    """Training ids, then validation ids, as one list."""
    paths = [folder / name for name in ("train.bin", "val.bin")]
    return [i for path in paths if path.exists() for i in read_tokens(path, tokenizer).tolist()]


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != ".lock"}


@pytest.mark.parametrize(
    "tokenizer", [BPE, CHAR, WordBPE.train(TEXT, 50)], ids=["byte", "char", "word"]
)
def test_ids_are_those_of_the_text_and_split_as_everywhere(tmp_path, tokenizer):
    header = write_tokens(tmp_path, [TEXT], tokenizer, source="a play")
    train_ids, val_ids = train_val_split(tokenizer.encode(TEXT))
    assert read_tokens(tmp_path / "train.bin", tokenizer).tolist() == train_ids
    assert read_tokens(tmp_path / "val.bin", tokenizer).tolist() == val_ids
    assert header == read_header(tmp_path / "train.bin") and header["source"] == "a play"
    assert header["tokens"] == len(train_ids) and header["vocab_size"] == tokenizer.vocab_size
    assert sorted(files(tmp_path)) == ["tokenizer.json", "train.bin", "val.bin"]
    again = type(tokenizer).load(tmp_path / "tokenizer.json")
    assert read_tokens(tmp_path / "val.bin", again).tolist() == val_ids


def test_one_end_of_text_between_documents_and_none_for_an_empty_one(tmp_path):
    end = BPE.special_tokens["<|endoftext|>"]
    documents = ["", "a b", "", iter(["c ", "", "d"]), "e<|endoftext|>", ""]
    write_tokens(tmp_path, documents, BPE, validation=0.0)
    a, c, d, e = (BPE.encode(text) for text in ("a b", "c ", "d", "e<|endoftext|>"))
    assert ids_in(tmp_path) == [*a, end, *c, *d, end, *e] and end not in e
    abc = CharTokenizer("abc")  # it has no such token
    write_tokens(tmp_path / "abc", ["ab", "", "c"], abc, validation=0.0)
    assert ids_in(tmp_path / "abc", abc) == [0, 1, 2]


def test_a_second_call_is_refused_unless_told_to_overwrite_and_leaves_no_old_validation(tmp_path):
    write_tokens(tmp_path, [TEXT], BPE)
    before = files(tmp_path)
    for resume in (False, True):
        with pytest.raises(FileExistsError, match="holds token files already: overwrite them"):
            write_tokens(tmp_path, ["short"], CharTokenizer("horst"), resume=resume)
    assert files(tmp_path) == before
    write_tokens(tmp_path, ["short"], CharTokenizer("horst"), validation=0.0, overwrite=True)
    assert sorted(files(tmp_path)) == ["tokenizer.json", "train.bin"]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    (tmp_path / "text.txt").write_bytes("To be\n".encode("utf-8-sig"))
    assert "".join(text_pieces(tmp_path / "text.txt", size=2)) == "To be\n"
    (tmp_path / "text.txt").write_bytes("To\ufeff be\n".encode())  # elsewhere it is a character
    assert "".join(text_pieces(tmp_path / "text.txt")) == "To\ufeff be\n"


@given(st.text(st.sampled_from("ab1! \n\r\t\u2028é"), max_size=60), st.integers(1, 9))
def test_pieces_are_the_text_and_give_the_ids_of_the_whole(tmp_path_factory, text, size):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_bytes(text.encode())
    pieces = list(text_pieces(path, size=size))
    assert "".join(pieces) == text and all(pieces)
    if max(map(len, pieces), default=0) <= 8 * size:  # no line was cut where it stood
        assert [i for piece in pieces for i in BPE.encode(piece)] == BPE.encode(text)


def test_a_long_text_is_never_in_memory_as_a_whole(tmp_path):
    (tmp_path / "text.txt").write_text("word and word\n" * 5000 + "x" * 50_000)
    sizes = [len(piece) for piece in text_pieces(tmp_path / "text.txt", size=1000)]
    assert sum(sizes) == 120_000 and max(sizes) <= 9000 and sorted(sizes)[len(sizes) // 2] < 1100


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_either_kind_are_never_cut_inside_a_word(tmp_path, end):
    text = "".join(f"line {i} has words and more of them{end}" for i in range(600))
    (tmp_path / "text.txt").write_bytes(text.encode())
    pieces = list(text_pieces(tmp_path / "text.txt", size=100))
    assert "".join(pieces) == text and max(map(len, pieces)) < 300
    assert [i for piece in pieces for i in BPE.encode(piece)] == BPE.encode(text)


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "text.txt").write_bytes("café".encode("latin-1"))
    with pytest.raises(ValueError, match=r"text\.txt is not UTF-8 text"):
        list(text_pieces(tmp_path / "text.txt"))


@pytest.mark.parametrize(
    ("documents", "options", "words"),
    [
        ([TEXT], {"validation": 1.0}, "validation=1.0, expected"),
        ([TEXT], {"validation": -0.1}, "validation=-0.1, expected"),
        (["", ""], {}, "got 0 tokens, too few"),
        (["a"], {}, "got 1 tokens, too few"),
    ],
)
def test_what_makes_no_file_is_refused_and_leaves_nothing(tmp_path, documents, options, words):
    with pytest.raises(ValueError, match=words):
        write_tokens(tmp_path / "out", documents, BPE, **options)
    assert not (tmp_path / "out").exists() or files(tmp_path / "out") == {}


def test_the_largest_vocabulary_is_what_16_bits_hold(tmp_path):
    letters = [chr(i) for i in range(0xE000 + 2**16) if not 0xD800 <= i < 0xE000]
    large = CharTokenizer("".join(letters[: 2**16]))
    write_tokens(tmp_path, [letters[2**16 - 1] + letters[0]], large, validation=0.0)
    assert ids_in(tmp_path, large) == [65_535, 0]
    with pytest.raises(ValueError, match="vocab_size=65537, expected at most 65536"):
        write_tokens(tmp_path, [TEXT], CharTokenizer("".join(letters[: 2**16 + 1])))


def test_another_tokenizer_is_refused(tmp_path):
    write_tokens(tmp_path, [TEXT], BPE)
    other = ByteBPE.train(TEXT, 300)
    with pytest.raises(ValueError, match=r"train\.bin was written by another tokenizer, of 400"):
        read_tokens(tmp_path / "train.bin", other)
    same_size = ByteBPE.train(TEXT[::-1], 400, ("<|endoftext|>",))
    with pytest.raises(ValueError, match="another tokenizer"):
        read_tokens(tmp_path / "train.bin", same_size)


@pytest.mark.parametrize("damage", ["cut", "longer", "empty", "text", "other format"])
def test_a_file_that_is_not_whole_is_refused(tmp_path, damage):
    write_tokens(tmp_path, [TEXT], BPE)
    path = tmp_path / "train.bin"
    data = path.read_bytes()
    other = data.replace(b"tokens 1", b"tokens 9", 1)
    named = {"cut": data[:-2], "longer": data + b"xx", "empty": b"", "text": b"To be\n" * 2000}
    path.write_bytes({**named, "other format": other}[damage])
    with pytest.raises(ValueError, match=r"train\.bin is not a whole token file"):
        read_tokens(path, BPE)


# --- read in place ----------------------------------------------------------------------------


def test_batches_evaluation_and_training_are_those_of_a_tensor(tmp_path, recwarn):
    write_tokens(tmp_path, [TEXT], CHAR)
    on_disk = [read_tokens(tmp_path / name, CHAR) for name in ("train.bin", "val.bin")]
    assert not recwarn.list
    in_memory = train_val_split(torch.tensor(CHAR.encode(TEXT)))
    batches = [
        random_batch(ids[0], 4, 8, torch.Generator().manual_seed(0)) for ids in (on_disk, in_memory)
    ]
    assert all(map(torch.equal, *batches)) and batches[0][0].dtype == torch.int64
    losses = []
    for ids in (on_disk, in_memory):
        torch.manual_seed(0)
        model = Bigram(CHAR.vocab_size)
        settings = {"batch_size": 4, "context_length": 8, "steps": 3, "lr": 0.1, "seed": 0}
        losses.append(train(model, *ids, **settings).val_loss + [evaluate(model, ids[1], 7)])
    assert losses[0] == losses[1]


@pytest.mark.skipif(sys.platform != "linux", reason="needs files with holes, and /proc")
def test_a_file_larger_than_memory_is_read_bit_by_bit(tmp_path):
    """A terabyte of zeros, which takes no room on the disk, and must take none in memory."""
    n, path = 500 * 10**9, tmp_path / "train.bin"
    write_tokens(tmp_path, [TEXT], CHAR)
    header = read_header(path) | {"tokens": n}
    with path.open("wb") as file:
        file.write(token_files._bytes(header))
        try:
            file.truncate(token_files.HEADER + 2 * n)
            file.seek(-2, io.SEEK_END)
            file.write(np.array([7], dtype="<u2").tobytes())
        except OSError as error:
            pytest.skip(f"this file system has no room for it: {error}")
    resident = lambda: int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")  # noqa: E731, SIM115
    before = resident()
    ids = read_tokens(path, CHAR)
    assert len(ids) == n and ids[-1].item() == 7
    x, y = random_batch(ids, 64, 128, torch.Generator().manual_seed(0))
    assert x.shape == (64, 128) and not y.any()
    assert evaluate(Bigram(CHAR.vocab_size), ids[-5000:], 64) > 0
    assert resident() - before < 200e6


# --- resuming ---------------------------------------------------------------------------------

DOCUMENTS = [TEXT[i : i + 300] for i in range(0, len(TEXT), 300)]


class Stop(Exception):
    """Raised in the middle of the documents."""


def stopped_after(n):
    yield from DOCUMENTS[:n]
    raise Stop


@pytest.mark.parametrize("n", [0, 1, 10, 33, len(DOCUMENTS)])
def test_a_resumed_call_gives_the_files_of_an_uninterrupted_one(tmp_path, monkeypatch, n):
    monkeypatch.setattr(token_files, "EVERY", 500)
    encoded = []
    spy = type("Spy", (), {"vocab_size": CHAR.vocab_size, "save": CHAR.save})()
    spy.encode = lambda text: encoded.append(text) or CHAR.encode(text)
    write_tokens(tmp_path / "whole", DOCUMENTS, spy)
    with pytest.raises(Stop):
        write_tokens(tmp_path / "cut", stopped_after(n), spy)
    assert not (tmp_path / "cut" / "train.bin").exists()
    encoded.clear()
    heard = []
    write_tokens(tmp_path / "cut", DOCUMENTS, spy, resume=True, on_bytes=heard.append)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert len(encoded) <= len(DOCUMENTS) - n + 2  # what was recorded is not encoded again
    assert sum(heard) == len(TEXT.encode())


def test_an_unfinished_call_is_not_overwritten_by_accident(tmp_path, monkeypatch):
    monkeypatch.setattr(token_files, "EVERY", 100)
    with pytest.raises(Stop):
        write_tokens(tmp_path, stopped_after(3), BPE)
    with pytest.raises(FileExistsError, match="unfinished run: resume it, or overwrite it"):
        write_tokens(tmp_path, DOCUMENTS, BPE)
    write_tokens(tmp_path, ["another text"], BPE, validation=0.0, overwrite=True)
    assert ids_in(tmp_path) == BPE.encode("another text")
    assert sorted(files(tmp_path)) == ["tokenizer.json", "train.bin"]


def test_a_call_that_recorded_nothing_does_not_block_the_next(tmp_path):
    """A wrongly encoded text, say: once it is mended, the same call works."""
    path, out = tmp_path / "text.txt", tmp_path / "out"
    path.write_bytes(TEXT.encode() + b"caf\xe9")
    with pytest.raises(ValueError, match=r"text\.txt is not UTF-8"):
        write_tokens(out, [text_pieces(path, size=500)], BPE)
    assert files(out) == {}
    (out / ".tokens.part").write_bytes(b"of a call that was killed before its first record")
    path.write_bytes(TEXT.encode())
    write_tokens(out, [text_pieces(path, size=500)], BPE)
    assert ids_in(out) == BPE.encode(TEXT)


# --- a full disk, and kills: files change together ----------------------------------------------


WRITING = ((os, "fsync"), (Path, "write_text"), (token_files.shutil, "copyfileobj"))
RENAMING = ((os, "truncate"), (Path, "replace"))


def fail_at(monkeypatch, functions, number, error):
    """Call `number` of `functions`, or of opening a file to write, raises; returns their names."""
    calls = []

    def fails(owner, name, counts=lambda *_: True):
        original = getattr(owner, name)

        def call(*arguments, **options):
            if counts(*arguments):
                calls.append(name)
                if len(calls) == number:
                    raise error
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    for owner, name in functions:
        fails(owner, name)
    fails(Path, "open", lambda path, mode="r", *_: mode not in ("r", "rb"))
    return calls


@pytest.mark.parametrize("kind", ["full disk", "kill"])
def test_wherever_it_fails_the_set_is_the_old_one_or_the_new_one_never_a_mixture(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(token_files, "fingerprint", lambda tokenizer: str(tokenizer.vocab_size))
    monkeypatch.setattr(token_files, "EVERY", 8000)
    write_tokens(tmp_path / "old", ["an old text " * 99], CharTokenizer.train("an old text "))
    write_tokens(tmp_path / "new", DOCUMENTS, CHAR)
    old, new = files(tmp_path / "old"), files(tmp_path / "new")
    full_disk = kind == "full disk"
    functions = WRITING if full_disk else WRITING + RENAMING
    for number in range(1, 100):
        out = tmp_path / f"out{number}"
        out.mkdir()
        for name, data in old.items():
            (out / name).write_bytes(data)
        error = OSError(28, "No space left on device") if full_disk else Stop()
        expected = f"no room on the disk for the token files in {out}" if full_disk else None
        with monkeypatch.context() as patch:
            calls = fail_at(patch, functions, number, error)
            with contextlib.suppress(Stop) if not full_disk else contextlib.nullcontext():
                try:
                    write_tokens(out, DOCUMENTS, CHAR, overwrite=True)
                except OSError as caught:
                    assert caught.errno == 28 and expected in str(caught)
        found = {name: data for name, data in files(out).items() if name[0] != "."}
        if len(calls) < number:  # all were tried
            assert found == new and number > 15
            return
        assert found == old if full_disk else found == old or "train.bin" not in found, calls
        write_tokens(out, DOCUMENTS, CHAR, resume=True, overwrite=True)
        assert files(out) == new
    pytest.fail("it never ended well")


def test_what_is_resumed_needs_no_second_leave_to_overwrite(tmp_path, monkeypatch):
    monkeypatch.setattr(token_files, "EVERY", 500)
    write_tokens(tmp_path, ["an old text"], BPE)
    with pytest.raises(Stop):
        write_tokens(tmp_path, stopped_after(30), BPE, overwrite=True)
    write_tokens(tmp_path, DOCUMENTS, BPE, resume=True)
    write_tokens(tmp_path / "new", DOCUMENTS, BPE)
    assert ids_in(tmp_path) == ids_in(tmp_path / "new")


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_no_room_is_said_in_one_sentence_and_the_old_files_stay(tmp_path):
    """A real limit of the system, on the size of a file, stands for a disk that is full."""
    write_tokens(tmp_path, ["an old text"], BPE)
    before = files(tmp_path)
    BPE.save(tmp_path / "bpe.json")
    program = (
        "import resource, sys\n"
        "from scratchformer.data.token_files import write_tokens\n"
        "from scratchformer.tokenizers import ByteBPE\n"
        "tokenizer = ByteBPE.load(sys.argv[1] + '/bpe.json')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "write_tokens(sys.argv[1], ['to be or not to be ' * 9999], tokenizer, overwrite=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    (tmp_path / "bpe.json").unlink()
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"no room on the disk for the token files in {tmp_path}" in last and "Make room" in last
    assert files(tmp_path) == before


@pytest.mark.parametrize("change", ["text", "shorter", "tokenizer"])
def test_what_is_resumed_must_be_the_same(tmp_path, monkeypatch, change):
    monkeypatch.setattr(token_files, "EVERY", 500)
    with pytest.raises(Stop):
        write_tokens(tmp_path, stopped_after(20), BPE)
    documents = {"text": ["new", *DOCUMENTS[1:]], "shorter": DOCUMENTS[:2]}.get(change, DOCUMENTS)
    tokenizer = ByteBPE.train(TEXT, 300) if change == "tokenizer" else BPE
    words = "tokenizer" if change == "tokenizer" else "text"
    with pytest.raises(ValueError, match=f"was begun with another {words}, expected the same"):
        write_tokens(tmp_path, documents, tokenizer, resume=True)
    write_tokens(tmp_path, DOCUMENTS, BPE, resume=True)  # nothing was spoilt
    write_tokens(tmp_path / "whole", DOCUMENTS, BPE)
    assert ids_in(tmp_path) == ids_in(tmp_path / "whole")


@pytest.mark.parametrize(
    ("method", "name"),
    [("truncate", ""), ("replace", ".tokens.part"), ("unlink", ".tokens.json")],
    ids=["val.bin written", "train.bin cut", "train.bin in place"],
)
def test_a_kill_while_the_files_are_put_in_place_loses_nothing(tmp_path, monkeypatch, method, name):
    monkeypatch.setattr(token_files, "EVERY", 500)
    write_tokens(tmp_path / "whole", DOCUMENTS, BPE)
    with pytest.raises(Stop):
        write_tokens(tmp_path / "cut", stopped_after(30), BPE)
    original = getattr(Path, method, None)

    def killed(self, *args, **options):
        if self.name == name:
            raise Stop
        return original(self, *args, **options)

    with monkeypatch.context() as patch:
        if method == "truncate":
            patch.setattr(token_files, "_bytes", stop_at_the_second_header())
        else:
            patch.setattr(Path, method, killed)
        with pytest.raises(Stop):
            write_tokens(tmp_path / "cut", DOCUMENTS, BPE, resume=True)
    write_tokens(tmp_path / "cut", DOCUMENTS, BPE, resume=True)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def stop_at_the_second_header():
    original, calls = token_files._bytes, []

    def header_bytes(header):
        calls.append(header)
        if len(calls) == 2:  # that of train.bin: the ids after it are cut off, its own not written
            raise Stop
        return original(header)

    return header_bytes


PROGRAM = """
import sys
from pathlib import Path
from scratchformer.data import token_files
from scratchformer.tokenizers import ByteBPE
token_files.EVERY = 3000
tokenizer = ByteBPE.load(sys.argv[2])
pieces = token_files.text_pieces(sys.argv[3], size=2000)
token_files.write_tokens(sys.argv[1], [pieces], tokenizer, resume=True,
    on_bytes=lambda n: print(n, flush=True))
"""


def test_a_killed_process_is_resumed_to_the_same_files(tmp_path):
    BPE.save(tmp_path / "bpe.json")
    (tmp_path / "text.txt").write_text(TEXT * 10, encoding="utf-8")
    out, kills = tmp_path / "out", 0
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        *map(str, (out, tmp_path / "bpe.json", tmp_path / "text.txt")),
    ]
    for pieces in (30, 60, 90, 10**9):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for number, _ in enumerate(process.stdout):
            if number == pieces:
                process.kill()
                kills += 1
                break
        process.communicate()
    assert kills == 3 and process.returncode == 0
    write_tokens(tmp_path / "whole", [TEXT * 10], BPE)
    assert files(out) == files(tmp_path / "whole")
    assert json.loads((out / "train.bin").read_bytes()[:4096])["split"] == "train"


def test_two_calls_into_one_folder_do_not_mix_their_texts(tmp_path):
    def documents():
        yield DOCUMENTS[0]
        with pytest.raises(BlockingIOError, match="another process is writing to"):
            write_tokens(tmp_path, ["another text " * 99], CHAR, overwrite=True)
        yield from DOCUMENTS[1:]

    write_tokens(tmp_path, documents(), CHAR)
    write_tokens(tmp_path / "alone", DOCUMENTS, CHAR)
    alone = files(tmp_path / "alone")
    shutil.rmtree(tmp_path / "alone")
    assert files(tmp_path) == alone


@pytest.mark.parametrize("text", ["", "{", "[]", '{"x": 1}'])
def test_a_damaged_record_is_told(tmp_path, text):
    (tmp_path / token_files.IDS).write_bytes(b"x" * 9000)
    (tmp_path / token_files.RECORD).write_text(text)
    with pytest.raises(ValueError, match="is damaged"):
        write_tokens(tmp_path, DOCUMENTS, CHAR, resume=True)
