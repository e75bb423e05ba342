"""Token files: the ids of the whole text, whatever was cut or killed, read in place."""

import functools
import itertools
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scratchformer.data import Playhouse, token_files, train_val_split
from scratchformer.data.token_files import read_header, read_tokens, text_pieces, write_tokens
from scratchformer.tokenizers import ByteBPE, CharTokenizer, WordBPE

TEXT = Playhouse().text(10_000)
BPE = ByteBPE.train(TEXT, 300, ("<|endoftext|>",))
CHAR = CharTokenizer.train(TEXT)


def ids_in(folder, tokenizer=BPE, names=("train.bin", "val.bin")):
    """Training ids, then validation ids, as one list."""
    paths = [folder / name for name in names]
    return [i for path in paths if path.exists() for i in read_tokens(path, tokenizer).tolist()]


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name[0] != "."}


@pytest.mark.parametrize("tokenizer", [BPE, CHAR, WordBPE.train(TEXT, 50)])
def test_ids_are_those_of_the_text_split_as_everywhere_and_stay_on_the_disk(tmp_path, tokenizer):
    header = write_tokens(tmp_path, [TEXT], tokenizer, source="a play")
    train_ids, val_ids = train_val_split(tokenizer.encode(TEXT))
    assert ids_in(tmp_path, tokenizer, ["train.bin"]) == train_ids
    again = type(tokenizer).load(tmp_path / "tokenizer.json")
    assert ids_in(tmp_path, again, ["val.bin"]) == val_ids
    assert header == read_header(tmp_path / "train.bin") and header["source"] == "a play"
    assert header["tokens"] == len(train_ids) and header["vocab_size"] == tokenizer.vocab_size
    assert sorted(files(tmp_path)) == ["tokenizer.json", "train.bin", "val.bin"]
    ids = read_tokens(tmp_path / "train.bin", tokenizer)
    with (tmp_path / "train.bin").open("rb+") as file:
        file.seek(-2, os.SEEK_END)
        file.write((train_ids[-1] ^ 1).to_bytes(2, "little"))
    assert ids[-1].item() == train_ids[-1] ^ 1  # a copy would not know


def test_one_end_of_text_between_documents_and_none_for_an_empty_one(tmp_path):
    end = BPE.special_tokens["<|endoftext|>"]
    documents = ["", "a b", "", iter(["c ", "", "d"]), "e<|endoftext|>", ""]
    write_tokens(tmp_path, documents, BPE, validation=0.0)
    a, c, d, e = (BPE.encode(text) for text in ("a b", "c ", "d", "e<|endoftext|>"))
    assert ids_in(tmp_path) == [*a, end, *c, *d, end, *e] and end not in e
    abc = CharTokenizer("abc")  # it has no such token
    write_tokens(tmp_path, ["ab", "", "c"], abc, validation=0.0, overwrite=True)
    assert ids_in(tmp_path, abc) == [0, 1, 2] and not (tmp_path / "val.bin").exists()


@settings(max_examples=50)
@given(st.text(st.sampled_from("ab1! \n\r\t\u2028é"), max_size=60), st.integers(1, 9))
def test_pieces_are_the_text_and_give_the_ids_of_the_whole(tmp_path_factory, text, size):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_bytes(text.encode("utf-8-sig"))  # a byte order mark is no part of it
    pieces = list(text_pieces(path, size=size))
    assert "".join(pieces) == text and all(pieces)
    if max(map(len, pieces), default=0) <= 8 * size:  # no line was cut where it stood
        assert [i for piece in pieces for i in BPE.encode(piece)] == BPE.encode(text)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xef\xbb\xbf" + "é".encode() * 700_000 + b"\xe9 or not", "byte 1,400,003 is 0xe9"),
        ("é".encode() * 700_000 + b"\0", "byte 1,400,000 is 0"),
        (b"caf\xc3", "byte 3 is 0xc3, unexpected end of data"),
    ],
)
def test_a_file_that_is_no_text_is_refused_with_its_byte(tmp_path, data, words):
    (tmp_path / "no.txt").write_bytes(data)
    with pytest.raises(ValueError, match=f"no.txt is not UTF-8 text: {words}"):
        list(text_pieces(tmp_path / "no.txt"))


def test_where_the_quick_encoder_fails_the_tokenizers_own_gives_the_ids(tmp_path, monkeypatch):
    def no_pattern(tokenizer):
        raise ValueError("the pattern looks behind")

    row_of_blanks = "a" + " " * 1_000_001 + "b"  # on which tiktoken panics
    write_tokens(tmp_path, [row_of_blanks], BPE, validation=0.0)
    assert len(ids_in(tmp_path)) == len(BPE.encode(row_of_blanks))
    monkeypatch.setattr(ByteBPE, "to_tiktoken", no_pattern)
    write_tokens(tmp_path, [TEXT], BPE, overwrite=True)
    assert ids_in(tmp_path) == BPE.encode(TEXT)


def test_the_largest_vocabulary_is_what_16_bits_hold(tmp_path):
    letters = [chr(i) for i in range(0xE000 + 2**16) if not 0xD800 <= i < 0xE000]
    large = CharTokenizer("".join(letters[: 2**16]))
    write_tokens(tmp_path, [letters[2**16 - 1] + letters[0]], large, validation=0.0)
    assert ids_in(tmp_path, large) == [65_535, 0]
    with pytest.raises(ValueError, match="vocab_size=65537, expected at most 65536"):
        write_tokens(tmp_path, [TEXT], CharTokenizer("".join(letters[: 2**16 + 1])))


def test_a_file_that_is_not_whole_is_refused(tmp_path):
    write_tokens(tmp_path, [TEXT], CHAR)
    path = tmp_path / "train.bin"
    data = path.read_bytes()
    for damaged in (data[:-2], b"To be\n" * 2000, data.replace(b"tokens 1", b"tokens 9", 1)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"train\.bin is not a whole token file"):
            read_tokens(path, CHAR)


# --- errors, a full disk, and kills: files change together ---------------------------------------


@pytest.fixture
def old(tmp_path):
    """A folder that holds token files already."""
    write_tokens(tmp_path / "old", ["an old text " * 99], CharTokenizer.train("an old text "))
    return tmp_path / "old"


def test_what_makes_no_files_is_refused_and_leaves_the_older_ones(old):
    def unreadable():
        yield TEXT
        raise ValueError("text.txt is not UTF-8")

    def twice():
        yield TEXT
        write_tokens(old, [TEXT], CHAR, overwrite=True)

    before = files(old)
    for documents, options, error, words in (
        ([TEXT], {"overwrite": False}, FileExistsError, "holds token files already: overwrite"),
        ([TEXT], {"validation": 1.0}, ValueError, "validation=1.0, expected"),
        (["a"], {}, ValueError, "got 1 tokens, too few"),
        (unreadable(), {}, ValueError, "is not UTF-8"),
        (twice(), {}, BlockingIOError, "another process is writing to"),
    ):
        with pytest.raises(error, match=words):
            write_tokens(old, documents, CHAR, **{"overwrite": True} | options)
        assert files(old) == before
    (old / "val.bin").unlink()
    (old / "val.bin").mkdir()
    with pytest.raises(IsADirectoryError, match=r"val\.bin is a folder, expected a file or"):
        write_tokens(old, [TEXT], CHAR, overwrite=True)
    assert (old / "train.bin").read_bytes() == before["train.bin"]


class Stop(Exception):
    """Stands for a kill: nothing that follows it is done."""


CALLS = ((os, "fsync"), (Path, "write_text"), (shutil, "copyfileobj"), (Path, "open"))
RENAMES = ((Path, "replace"), (Path, "unlink"))


def fail_at(monkeypatch, functions, number, error):
    """Call `number` of the functions raises; returns the calls that were made."""
    calls = []

    def counted(original, *arguments, **options):
        calls.append(original)
        if len(calls) == number:
            raise error
        return original(*arguments, **options)

    for owner, name in functions:
        call = functools.partial(counted, getattr(owner, name))
        monkeypatch.setattr(owner, name, lambda *xs, call=call, **options: call(*xs, **options))
    return calls


@pytest.mark.parametrize("error", [OSError(28, "No space"), Stop()], ids=["full disk", "kill"])
def test_wherever_it_fails_the_set_is_the_old_one_or_the_new_one_never_a_mixture(
    tmp_path, monkeypatch, old, error
):
    monkeypatch.setattr(token_files, "fingerprint", lambda tokenizer: str(tokenizer.vocab_size))
    documents = [TEXT[i : i + 300] for i in range(0, len(TEXT), 300)]
    write_tokens(tmp_path / "new", documents, CHAR)
    before, after, is_kill = files(old), files(tmp_path / "new"), isinstance(error, Stop)
    for number in itertools.count(1):
        out = shutil.copytree(old, tmp_path / f"out{number}")
        with monkeypatch.context() as patch:
            if is_kill:  # which cleans nothing up
                patch.setattr(shutil, "rmtree", lambda *arguments, **options: None)
            calls = fail_at(patch, CALLS + RENAMES if is_kill else CALLS, number, error)
            try:
                write_tokens(out, documents, CHAR, overwrite=True)
            except (Stop, OSError) as caught:
                assert is_kill or (caught.errno == 28 and f"token files in {out}" in str(caught))
        result = files(out)
        if len(calls) < number:  # all were tried
            assert result == after and number > 8
            return
        assert result == before or (is_kill and "train.bin" not in result), calls
        write_tokens(out, documents, CHAR, overwrite=True)  # nothing is in its way
        assert files(out) == after
