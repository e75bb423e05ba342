"""CTranslate2's file: what was written is read, and what is no such file is refused."""

import struct

import numpy as np
import pytest

from scratchformer.data.ctranslate2 import read_ctranslate2
from scratchformer.tokenizers import ByteBPE

TENSORS = {
    "encoder/weight": np.arange(6, dtype=np.float16).reshape(2, 3) / 7,
    "decoder/bias": np.array([1.5, -2.0], np.float32),
    "decoder/num_heads": np.array(6, np.int16),
}
KINDS = {"float16": 4, "float32": 0, "int16": 2}


def text(string):
    return struct.pack("<H", len(string) + 1) + string.encode() + b"\0"


def file_of(tensors, version=6):
    parts = [struct.pack("<I", version), text("WhisperSpec"), struct.pack("<II", 3, len(tensors))]
    for name, tensor in tensors.items():
        shape = struct.pack(f"<B{tensor.ndim}I", tensor.ndim, *tensor.shape)
        kind = struct.pack("<BI", KINDS[tensor.dtype.name], tensor.nbytes)
        parts += [text(name), shape, kind, tensor.tobytes()]
    return b"".join(parts)


def test_tensors_come_back_by_name_and_float16_as_float32(tmp_path):
    (tmp_path / "model.bin").write_bytes(file_of(TENSORS) + struct.pack("<I", 0))  # no aliases
    found = read_ctranslate2(tmp_path / "model.bin")
    assert [*found] == [*TENSORS]
    for name, tensor in TENSORS.items():
        assert found[name].shape == tensor.shape and np.array_equal(found[name], tensor)
    assert found["encoder/weight"].dtype == np.float32


def test_a_file_that_is_cut_short_or_of_another_kind_is_refused(tmp_path):
    data = file_of(TENSORS)
    broken = [data[:n] for n in range(len(data))]
    broken += [file_of(TENSORS, version=5), b"GGUF" + bytes(90), data.replace(b"\4\x0c", b"\4\x0d")]
    for part in broken:
        (tmp_path / "model.bin").write_bytes(part)
        with pytest.raises(ValueError, match=r"model\.bin is not a CTranslate2 file"):
            read_ctranslate2(tmp_path / "model.bin")


def test_a_list_of_tokens_is_a_tokenizer(tmp_path):
    trained = ByteBPE.train("the cat, the dog and the cat again " * 9, 270, ("<|end|>",))
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    names = ["".join(map(letters.get, token)) for token in trained.tokens]
    path = tmp_path / "vocabulary.txt"
    path.write_text("\n".join([*names, "<|end|>", ""]), encoding="utf-8")
    tok = ByteBPE.from_vocabulary(path)
    sample = "the dog, naïve\n日本 <|end|>"
    assert tok.encode(sample) == trained.encode(sample) and tok.decode(tok.encode(sample)) == sample
    assert tok.encode("<|end|>", allow_special=True) == [tok.special_tokens["<|end|>"]]
    path.write_text("日\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has the letter '日', expected GPT-2's"):
        ByteBPE.from_vocabulary(path)
