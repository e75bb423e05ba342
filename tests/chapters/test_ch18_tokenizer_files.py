"""GPT-2's tokenizer, written by us: transformers reads it, and writes our texts with it."""

import pytest
import torch

from scratchformer.data import Playhouse
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.models.pretrained import save_as_gpt2
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch18_gpt2.tokenizer_files import byte_letters, save_tokenizer_as_gpt2


def folder_for_transformers(folder):
    """A byte-level tokenizer and a GPT with large random weights in GPT-2's format."""
    tok = ByteBPE.train(Playhouse().text(20_000), 300, ("<|endoftext|>",))
    torch.manual_seed(0)
    model = GPT(GPTConfig(tok.vocab_size, 32, d_model=16, n_heads=4, n_layers=2)).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.15)
    save_as_gpt2(folder, model)
    save_tokenizer_as_gpt2(folder, tok)
    return model, tok


def test_transformers_reads_our_tokenizer_and_encodes_the_same(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    _, tok = folder_for_transformers(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == tok.vocab_size
    for text in ("Let's go,  now!\n\n\t", "naïve café — 北京 😀 1234 ''s", "<|endoftext|>", ""):
        ids = tok.encode(text, allow_special=True)
        assert theirs(text)["input_ids"] == ids
        assert theirs.decode(ids, clean_up_tokenization_spaces=False) == text


def test_the_pipeline_of_transformers_writes_our_texts(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    model, tok = folder_for_transformers(tmp_path)
    pipe = transformers.pipeline("text-generation", model=str(tmp_path), device="cpu")
    prompt = "Enter Odile"
    ids = torch.tensor([tok.encode(prompt)])
    for options, ours in [
        ({"do_sample": False}, {"temperature": 0.0}),
        ({"do_sample": True, "temperature": 0.7, "top_k": 40}, {"temperature": 0.7, "top_k": 40}),
    ]:
        torch.manual_seed(3)
        found = pipe(prompt, max_new_tokens=20, return_tensors=True, **options)
        torch.manual_seed(3)
        expected = generate(model, ids, 20, **ours)[0].tolist()
        assert found[0]["generated_token_ids"] == expected, options


def test_the_letters_of_bytes_are_gpt2s():
    slow = pytest.importorskip("transformers.convert_slow_tokenizer", reason="no transformers")
    assert dict(enumerate(byte_letters())) == slow.bytes_to_unicode()


@pytest.mark.parametrize("special", [(), ("<|end|>",), ("<|endoftext|>", "<|pad|>")])
def test_a_tokenizer_with_other_special_tokens_is_not_saved_as_gpt2s(tmp_path, special):
    with pytest.raises(ValueError, match=r"special_tokens=\[.*\], expected \['<.endoftext.>'\]"):
        save_tokenizer_as_gpt2(tmp_path / "folder", ByteBPE.train("", 300, special))
    assert not (tmp_path / "folder").exists()
