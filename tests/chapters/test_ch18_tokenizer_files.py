"""GPT-2's tokenizer, written by us: transformers reads it, and writes our texts with it."""

import pytest
import torch

from scratchformer.data import Playhouse
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.models.pretrained import save_as_gpt2
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch18_gpt2.tokenizer_files import byte_letters, save_tokenizer_as_gpt2


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """A byte-level tokenizer and a GPT with large random weights, and their folder."""
    folder = tmp_path_factory.mktemp("gpt2")
    tok = ByteBPE.train(Playhouse().text(20_000), 300, ("<|endoftext|>",))
    torch.manual_seed(0)
    model = GPT(GPTConfig(tok.vocab_size, 32, d_model=16, n_heads=4, n_layers=2)).eval()
    for p in model.parameters():
        p.data.normal_(std=0.15)
    save_as_gpt2(folder, model)
    save_tokenizer_as_gpt2(folder, tok)
    return model, tok, folder


def test_transformers_reads_our_tokenizer_and_encodes_the_same(gpt2):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    _, tok, folder = gpt2
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert len(theirs) == tok.vocab_size
    for text in ("Let's go,  now!\n\n\t", "naïve café — 北京 😀 1234 ''s", "<|endoftext|>", ""):
        ids = tok.encode(text, allow_special=True)
        assert theirs(text)["input_ids"] == ids
        assert theirs.decode(ids, clean_up_tokenization_spaces=False) == text


def test_the_pipeline_of_transformers_writes_our_texts(gpt2):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    model, tok, folder = gpt2
    pipe = transformers.pipeline("text-generation", model=str(folder), device="cpu")
    prompt, sampling = "Enter Odile", {"temperature": 0.7, "top_k": 40}
    torch.manual_seed(3)
    theirs = pipe(prompt, max_new_tokens=20, return_tensors=True, do_sample=True, **sampling)
    torch.manual_seed(3)
    ours = generate(model, torch.tensor([tok.encode(prompt)]), 20, **sampling)
    assert theirs[0]["generated_token_ids"] == ours[0].tolist()


def test_the_letters_of_bytes_are_gpt2s():
    slow = pytest.importorskip("transformers.convert_slow_tokenizer", reason="no transformers")
    assert dict(enumerate(byte_letters())) == slow.bytes_to_unicode()


@pytest.mark.parametrize("special", [(), ("<|endoftext|>", "<|pad|>")])
def test_a_tokenizer_with_other_special_tokens_is_not_saved_as_gpt2s(tmp_path, special):
    with pytest.raises(ValueError, match=r"special_tokens=\[.*\], expected \['<.endoftext.>'\]"):
        save_tokenizer_as_gpt2(tmp_path / "folder", ByteBPE.train("", 300, special))
    assert not (tmp_path / "folder").exists()
