"""What the commands read and show: the texts that were named and no others, in any encoding."""

import json
import os
import subprocess
import sys
import threading

import pytest

from scratchformer.cli import main
from scratchformer.data.hugging_face import dataset_rows
from scratchformer.data.token_files import read_header
from scratchformer.models import GPT, GPTConfig

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and named pipes of Unix")


def prepare(*words):
    return main(["prepare", *map(str, words), "--tokenizer", "char", "--validation", "0"])


@pytest.fixture
def corpus(tmp_path):
    for name, text in (("corpus/a.txt", "abc " * 10), ("elsewhere/b.txt", "abc " * 5)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path / "corpus"


def test_texts_behind_links_are_read(corpus, tmp_path):
    (corpus / "more").symlink_to(tmp_path / "elsewhere")
    (corpus / "c.txt").symlink_to(tmp_path / "elsewhere" / "b.txt")
    assert prepare(corpus, "--out", tmp_path / "ids") == 0
    assert read_header(tmp_path / "ids" / "train.bin")["tokens"] == 40 + 20 + 20


@pytest.mark.parametrize("target, words", [("nowhere", "leads nowhere"), ("corpus", "leads back")])
def test_a_link_that_cannot_be_followed_is_named(corpus, tmp_path, capsys, target, words):
    (corpus / "link").symlink_to(tmp_path / target)
    assert prepare(corpus, "--out", tmp_path / "ids") == 1
    assert words in capsys.readouterr().err and not (tmp_path / "ids").exists()


def test_a_pipe_of_any_name_is_read_once_or_refused_for_a_tokenizer_that_reads_twice(
    tmp_path, capsys
):
    os.mkfifo(tmp_path / "pipe")
    assert prepare(tmp_path / "pipe", "--out", tmp_path / "ids") == 1
    assert "char reads the text twice, which" in capsys.readouterr().err
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("to be",))
    writer.start()
    saved = tmp_path / "saved"
    saved.write_text("not to be")
    assert prepare(saved, "--out", tmp_path / "first") == 0
    words = [str(tmp_path / "pipe"), "--tokenizer", str(tmp_path / "first" / "tokenizer.json")]
    assert main(["prepare", *words, "--validation", "0", "--out", str(tmp_path / "ids")]) == 0
    writer.join()
    assert read_header(tmp_path / "ids" / "train.bin")["tokens"] == len("to be")


def test_a_folder_with_the_name_of_a_kind_of_file_is_read_and_nothing_beside_it(
    tmp_path, monkeypatch
):
    pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("my own notes")
    with pytest.raises(ValueError, match="there is no folder text"):
        next(dataset_rows("text"))
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.jsonl").write_text(json.dumps({"text": "the right text"}))
    assert [row["text"] for row in dataset_rows("text")] == ["the right text"]


def test_what_an_output_cannot_show_changes_no_verdict(tmp_path):
    made = "from scratchformer.models import GPT, GPTConfig\n\n"
    made += "def make():\n    return GPT(GPTConfig(61, 32, 32, 4, 2))\n"
    (tmp_path / "mine.py").write_text(made)
    words = [sys.executable, "-m", "scratchformer", "diagnose", "mine:make"]
    narrow = os.environ | {"PYTHONIOENCODING": "cp1252"}  # a pipe's on Windows, which has no ✓
    process = subprocess.run(words, cwd=tmp_path, env=narrow, capture_output=True)
    assert process.returncode == 0 and "✓ causality" in process.stdout.decode("utf-8")


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000, '{"model_type": "gpt2"}', "\ud800"])
def test_a_damaged_folder_is_named_by_diagnose(tmp_path, capsys, text):
    GPT(GPTConfig(61, 32, 32, 4, 2)).save(tmp_path)
    (tmp_path / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert main(["diagnose", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err
