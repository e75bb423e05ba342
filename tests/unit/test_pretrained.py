"""Models on disk: ours come back as they were, GPT-2 as Hugging Face computes it, others never."""

import json

import pytest
import torch

from scratchformer.models import GPT, GPTConfig

SIZE = {"vocab_size": 13, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}
IDS = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(0))


def small_gpt(**changes):
    torch.manual_seed(0)
    return GPT(GPTConfig(**SIZE | changes))


@pytest.fixture
def saved(tmp_path):
    small_gpt().save(tmp_path)
    return tmp_path


@pytest.mark.parametrize("changes", [{}, {"bias": False, "n_layers": 1}, {"dropout": 0.3}])
def test_a_saved_model_comes_back_the_same(tmp_path, changes):
    model = small_gpt(**changes)
    model.save(tmp_path / "new" / "folder")
    again = GPT.from_pretrained(tmp_path / "new" / "folder")
    assert again.config == model.config
    assert all(map(torch.equal, model.parameters(), again.parameters()))
    assert again.lm_head.weight is again.wte.weight  # still tied
    assert not again.training and torch.equal(again(IDS), model.eval()(IDS))
    assert sorted(p.name for p in (tmp_path / "new" / "folder").iterdir()) == [
        "config.json",
        "model.safetensors",
    ]


def test_saving_again_replaces(saved):
    model = small_gpt(d_model=32)
    model.save(str(saved))
    assert torch.equal(GPT.from_pretrained(str(saved))(IDS), model(IDS))


# --- Hugging Face's GPT-2, made on the spot ---------------------------------------------------


def hugging_face(folder, kind="GPT2LMHeadModel", **changes):
    """A GPT-2 with large random weights, saved by transformers, and how to ask it for logits."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    size = {"vocab_size": 13, "n_positions": 8, "n_embd": 16, "n_head": 4, "n_layer": 2}
    config = transformers.GPT2Config(**size | {"bos_token_id": 0, "eos_token_id": 0} | changes)
    torch.manual_seed(1)
    model = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.15)  # far from the start, where a wrong model would give the same
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize(
    "changes",
    [{}, {"n_layer": 3, "n_head": 2, "n_embd": 32}, {"n_head": 1}, {"n_layer": 1, "n_inner": 64}]
    + [
        {
            "vocab_size": 50,
            "n_positions": 20,
            "n_embd": 24,
            "n_head": 6,
            "tie_word_embeddings": True,
        }
    ],
)
def test_a_hugging_face_folder_gives_its_logits(tmp_path, changes):
    theirs = hugging_face(tmp_path, **changes)
    ours = GPT.from_pretrained(tmp_path)
    with torch.no_grad():
        expected = theirs(IDS).logits
        torch.testing.assert_close(ours(IDS), expected, rtol=0, atol=1e-5)
    assert expected.std() > 0.1 and not ours.training and ours.config.dropout == 0
    ours.save(tmp_path / "ours")
    assert torch.equal(GPT.from_pretrained(tmp_path / "ours")(IDS), ours(IDS))


def test_a_folder_without_the_head_is_the_same_model(tmp_path):
    theirs = hugging_face(tmp_path, kind="GPT2Model")  # names without "transformer."
    with torch.no_grad():
        logits = theirs(IDS).last_hidden_state @ theirs.wte.weight.T
        torch.testing.assert_close(GPT.from_pretrained(tmp_path)(IDS), logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"activation_function": "relu"}, "activation_function='relu', expected 'gelu_new'"),
        ({"n_inner": 32}, "n_inner=32, expected 4 n_embd = 64"),
        ({"layer_norm_epsilon": 1e-3}, "layer_norm_epsilon=0.001, expected 1e-05"),
        ({"scale_attn_weights": False}, "scale_attn_weights=False, expected True"),
        ({"scale_attn_by_inverse_layer_idx": True}, "inverse_layer_idx=True, expected False"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False, expected True"),
    ],
)
def test_a_gpt2_that_computes_something_else_is_refused(tmp_path, changes, words):
    hugging_face(tmp_path, **changes)
    with pytest.raises(ValueError, match=words):
        GPT.from_pretrained(tmp_path)


def test_another_architecture_is_refused(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 13}
    transformers.BertModel(transformers.BertConfig(**size)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="model_type='bert', expected 'gpt2'"):
        GPT.from_pretrained(tmp_path)


# --- what is broken or missing ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} is missing, expected a saved model"):
        GPT.from_pretrained(saved)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_cut_short_is_refused(saved, name, share):
    data = (saved / name).read_bytes()
    (saved / name).write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match="is not a whole saved model"):
        GPT.from_pretrained(saved)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ([1, 2], "is not a whole saved model"),
        ({**SIZE, "width": 3}, "holds no GPT: .*'width'"),
        ({"n_layers": 3}, "holds no GPT: .*'vocab_size'"),
    ],
)
def test_a_config_that_is_no_gpts_is_refused(saved, config, words):
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=words):
        GPT.from_pretrained(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"d_model": 32}, r"h\.0\.attn\.c_attn\.bias is \(48,\) in it, expected \(96,\)"),
        ({"n_layers": 3}, r"h\.2\.attn\.c_attn\.bias is missing in it, expected \(48,\)"),
        ({"bias": False}, r"h\.0\.attn\.c_attn\.bias is \(48,\) in it, expected no such tensor"),
    ],
)
def test_weights_that_do_not_fit_the_config_are_refused(saved, change, words):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(ValueError, match=words):
        GPT.from_pretrained(saved)


# --- the hub ----------------------------------------------------------------------------------


def test_a_name_is_looked_up_on_the_hub(saved, monkeypatch):
    asked = []

    def download(name, file, **options):
        asked.append((name, file))
        return str(saved / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert torch.equal(GPT.from_pretrained("gpt2")(IDS), small_gpt()(IDS))
    assert asked == [("gpt2", "config.json"), ("gpt2", "model.safetensors")]


def test_a_hub_that_does_not_answer_says_what_to_do(monkeypatch):
    def fail(*args, **options):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    words = (
        "'gpt2' is no folder, and .* did not give it .ConnectionError: no route to host.*Connect"
    )
    with pytest.raises(OSError, match=words):
        GPT.from_pretrained("gpt2")


def test_offline_nothing_is_asked_of_the_network(monkeypatch, tmp_path):
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", lambda *args: pytest.fail("a connection"))
    with pytest.raises(OSError, match=r"'some-one/some-model' is no folder.*save config\.json and"):
        GPT.from_pretrained("some-one/some-model")
