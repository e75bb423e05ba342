"""Token files: the ids of the whole text, whatever was cut or killed, read in place."""

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
    with pytest.raises(FileExistsError, match="holds token files already: overwrite them"):
        write_tokens(tmp_path, ["short"], CharTokenizer("horst"))
    assert files(tmp_path) == before
    write_tokens(tmp_path, ["short"], CharTokenizer("horst"), validation=0.0, overwrite=True)
    assert sorted(files(tmp_path)) == ["tokenizer.json", "train.bin"]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    (tmp_path / "text.txt").write_bytes("To be\n".encode("utf-8-sig"))
    assert "".join(text_pieces(tmp_path / "text.txt", size=2)) == "To be\n"
    (tmp_path / "text.txt").write_bytes("To\ufeff be\n".encode())  # elsewhere it is a character
    assert "".join(text_pieces(tmp_path / "text.txt")) == "To\ufeff be\n"


@settings(max_examples=50)
@given(st.text(st.sampled_from("ab1! \n\r\t\u2028é"), max_size=60), st.integers(1, 9))
def test_pieces_are_the_text_and_give_the_ids_of_the_whole(tmp_path_factory, text, size):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_bytes(text.encode())
    pieces = list(text_pieces(path, size=size))
    assert "".join(pieces) == text and all(pieces)
    if max(map(len, pieces), default=0) <= 8 * size:  # no line was cut where it stood
        assert [i for piece in pieces for i in BPE.encode(piece)] == BPE.encode(text)


class Panic(BaseException):
    """What Rust raises through Python: no Exception."""


@pytest.mark.parametrize("failure", [Panic, ValueError])
def test_where_the_quick_encoder_fails_the_tokenizers_own_gives_the_ids(
    tmp_path, monkeypatch, failure
):
    class Quick:
        def encode_ordinary(self, text):
            raise failure("no way")

    def no_pattern(tokenizer):
        raise failure("the pattern looks behind")

    for i, to_tiktoken in enumerate((lambda tokenizer: Quick(), no_pattern)):
        if not (i and failure is Panic):
            monkeypatch.setattr(ByteBPE, "to_tiktoken", to_tiktoken)
            write_tokens(tmp_path / str(i), [TEXT], BPE)
            assert ids_in(tmp_path / str(i)) == BPE.encode(TEXT)


def test_a_row_of_blanks_on_which_tiktoken_panics_is_encoded(tmp_path):
    text = "a" + " " * 1_000_001 + "b"
    write_tokens(tmp_path, [text], BPE, validation=0.0)
    assert len(ids_in(tmp_path)) == len(BPE.encode(text))


@pytest.mark.parametrize(
    ("documents", "validation", "words"),
    [([TEXT], 1.0, "validation=1.0, expected"), (["a"], 0.1, "got 1 tokens, too few")],
)
def test_what_makes_no_file_is_refused_and_leaves_nothing(tmp_path, documents, validation, words):
    with pytest.raises(ValueError, match=words):
        write_tokens(tmp_path / "out", documents, BPE, validation=validation)
    assert not (tmp_path / "out").exists() or files(tmp_path / "out") == {}


def test_the_largest_vocabulary_is_what_16_bits_hold(tmp_path):
    letters = [chr(i) for i in range(0xE000 + 2**16) if not 0xD800 <= i < 0xE000]
    large = CharTokenizer("".join(letters[: 2**16]))
    write_tokens(tmp_path, [letters[2**16 - 1] + letters[0]], large, validation=0.0)
    assert ids_in(tmp_path, large) == [65_535, 0]
    with pytest.raises(ValueError, match="vocab_size=65537, expected at most 65536"):
        write_tokens(tmp_path, [TEXT], CharTokenizer("".join(letters[: 2**16 + 1])))


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


def test_ids_stay_on_the_disk_until_they_are_looked_at(tmp_path):
    write_tokens(tmp_path, [TEXT], CHAR)
    ids = read_tokens(tmp_path / "train.bin", CHAR)
    other = (ids[-1].item() + 1) % CHAR.vocab_size
    with (tmp_path / "train.bin").open("rb+") as file:
        file.seek(-2, os.SEEK_END)
        file.write(other.to_bytes(2, "little"))
    assert ids[-1].item() == other  # a copy would not know


# --- errors, a full disk, and kills: files change together ---------------------------------------

DOCUMENTS = [TEXT[i : i + 300] for i in range(0, len(TEXT), 300)]


class Stop(Exception):
    """Stands for a kill: nothing that follows it is done."""


def test_an_error_in_the_middle_leaves_the_older_files_and_nothing_else(tmp_path):
    def unreadable():
        yield from DOCUMENTS[:9]
        raise ValueError("text.txt is not UTF-8")

    with pytest.raises(ValueError, match="is not UTF-8"):
        write_tokens(tmp_path, unreadable(), BPE)
    assert files(tmp_path) == {}
    write_tokens(tmp_path, ["an old text"], BPE)
    old = files(tmp_path)
    with pytest.raises(ValueError, match="is not UTF-8"):
        write_tokens(tmp_path, unreadable(), BPE, overwrite=True)
    assert files(tmp_path) == old


CALLS = ((os, "fsync"), (Path, "write_text"), (shutil, "copyfileobj"), (Path, "open"))
RENAMES = ((Path, "replace"), (Path, "unlink"))


def fail_at(monkeypatch, functions, number, error):
    """Call `number` of the functions raises; returns the calls that were made."""
    calls = []

    def failing(owner, name):
        original = getattr(owner, name)

        def call(*arguments, **options):
            calls.append(name)
            if len(calls) == number:
                raise error
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    for owner, name in functions:
        failing(owner, name)
    return calls


@pytest.mark.parametrize("kind", ["full disk", "kill"])
def test_wherever_it_fails_the_set_is_the_old_one_or_the_new_one_never_a_mixture(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(token_files, "fingerprint", lambda tokenizer: str(tokenizer.vocab_size))
    write_tokens(tmp_path / "old", ["an old text " * 99], CharTokenizer.train("an old text "))
    write_tokens(tmp_path / "new", DOCUMENTS, CHAR)
    old, new = files(tmp_path / "old"), files(tmp_path / "new")
    full_disk = kind == "full disk"
    for number in range(1, 100):
        out = tmp_path / f"out{number}"
        shutil.copytree(tmp_path / "old", out)
        error = OSError(28, "No space left on device") if full_disk else Stop()
        with monkeypatch.context() as patch:
            if not full_disk:  # a kill cleans nothing up
                patch.setattr(shutil, "rmtree", lambda *arguments, **options: None)
            calls = fail_at(patch, CALLS if full_disk else CALLS + RENAMES, number, error)
            try:
                write_tokens(out, DOCUMENTS, CHAR, overwrite=True)
            except (OSError, Stop) as caught:
                if full_disk:
                    assert caught.errno == 28
                    assert f"no room on the disk for the token files in {out}" in str(caught)
        found = {p.name: p.read_bytes() for p in out.iterdir() if p.name[0] != "."}
        if len(calls) < number:  # all were tried
            assert found == new and number > 8
            return
        assert found == old if full_disk else found == old or "train.bin" not in found, calls
        write_tokens(out, DOCUMENTS, CHAR, overwrite=True)  # nothing is in its way
        assert files(out) == new
    pytest.fail("it never ended well")


@pytest.mark.parametrize("name", ["val.bin", "tokenizer.json"])
def test_a_folder_in_a_files_place_costs_no_older_file(tmp_path, name):
    write_tokens(tmp_path, [TEXT], BPE, validation=0.0)
    old = (tmp_path / "train.bin").read_bytes()
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()
    with pytest.raises(IsADirectoryError, match=f"{name} is a folder, expected a file or nothing"):
        write_tokens(tmp_path, ["another"], BPE, overwrite=True)
    assert (tmp_path / "train.bin").read_bytes() == old


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
