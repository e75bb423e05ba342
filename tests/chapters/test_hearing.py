"""Chapter 14 hears: sound, spectrogram, model and map, against transformers where it is at hand."""

import hashlib

import numpy as np
import pytest
import torch
from scipy.io import wavfile

from scratchformer.data import real_model
from scratchformer_course.ch14_encoder_decoder import hearing
from scratchformer_course.ch14_encoder_decoder.live import mu_law


def test_the_recording_is_the_pinned_one_and_its_words_have_times():
    said = hearing.alignment()
    assert hashlib.sha256(hearing.RECORDING.read_bytes()).hexdigest() == said["sha256"]
    assert len(said["words"]) == len(said["times"]) == 22
    edges = [edge for time in said["times"] for edge in time]
    assert edges == sorted(edges) and edges[-1] < len(hearing.read_wav()) / hearing.RATE


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000, 8_000])
@pytest.mark.parametrize("kind", [np.int16, np.float32, np.uint8, np.int32])
def test_a_readers_own_wav_of_any_rate_and_kind_is_the_same_sound(tmp_path, rate, kind):
    t = np.arange(rate) / rate
    tone = 0.5 * np.sin(2 * np.pi * 440 * t)
    samples = np.stack([tone, tone], axis=1)  # two channels
    if kind is np.uint8:
        samples = np.round(samples * 127 + 128).astype(kind)
    elif kind is not np.float32:
        samples = (samples * np.iinfo(kind).max).astype(kind)
    wavfile.write(tmp_path / "own.wav", rate, samples.astype(kind))
    heard = hearing.read_wav(tmp_path / "own.wav")
    expected = 0.5 * np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
    assert heard.dtype == torch.float32 and len(heard) == 16_000
    inside = slice(200, -200)  # a filter has no past at the edges
    assert np.abs(heard.numpy() - expected)[inside].max() < (0.01 if kind is np.uint8 else 2e-3)


def test_its_spectrogram_is_that_of_whisper():
    transformers = pytest.importorskip("transformers")
    extractor = transformers.WhisperFeatureExtractor(feature_size=80)
    for samples in (
        hearing.read_wav(),
        torch.zeros(16_000),
        hearing.read_wav().repeat(5)[:480_000],
    ):
        theirs = extractor(samples.numpy(), sampling_rate=16_000, return_tensors="pt")
        assert (hearing.log_mel(samples) - theirs.input_features[0]).abs().max() < 1e-5


def test_the_page_plays_the_same_sound():
    """By G.711: of 8 bits, one is the sign, three are an exponent, and four a mantissa."""
    samples = hearing.read_wav().numpy()
    bits = ~np.frombuffer(mu_law(samples), np.uint8)
    size = (((bits & 15).astype(int) << 3) + 132 << (bits >> 4 & 7)) - 132
    played = np.where(bits & 128, -size, size) / 32768
    assert np.abs(played - samples).max() < 0.04 * np.abs(samples).max()
    assert np.corrcoef(played, samples)[0, 1] > 0.9995


@pytest.fixture(scope="module")
def listener():
    try:
        real_model.find_real_model(hearing.NAME, download=False)
    except OSError:
        pytest.skip("Whisper is not at hand: python -m scratchformer.data.real_model")
    model = hearing.Listener().eval()
    model.load_state_dict(hearing.joined(hearing.weights()))
    return model


def theirs_of(model):
    """WhisperForConditionalGeneration with the same weights, under the names that it has."""
    transformers = pytest.importorskip("transformers")
    sizes = {f"{side}_layers": 4 for side in ("encoder", "decoder")}
    sizes |= {f"{side}_attention_heads": 6 for side in ("encoder", "decoder")}
    sizes |= {f"{side}_ffn_dim": 1536 for side in ("encoder", "decoder")}
    config = transformers.WhisperConfig(vocab_size=51_864, d_model=384, num_mel_bins=80, **sizes)
    theirs = transformers.WhisperForConditionalGeneration(config).eval()
    names = {"mlp.c_fc": "fc1", "mlp.c_proj": "fc2", "cross_attn.c_proj": "encoder_attn.out_proj"}
    names |= {"attn.c_proj": "self_attn.out_proj", "ln_cross": "encoder_attn_layer_norm"}
    names |= {"ln_1": "self_attn_layer_norm", "ln_2": "final_layer_norm"}
    state = {}
    for name, tensor in model.state_dict().items():
        for ours, own in names.items():
            name = name.replace(ours, own) if f".{ours}." in f".{name}" else name
        if ".c_attn." in name:
            kind = "encoder_attn" if "cross_attn" in name else "self_attn"
            layer, part = name.split("cross_attn" if kind == "encoder_attn" else "attn")[0], name
            for letter, piece in zip("qkv", tensor.chunk(3), strict=True):
                if part.endswith("bias") and letter == "k":
                    assert not piece.any(), "a key has no bias in Whisper"
                    continue
                state[f"{layer}{kind}.{letter}_proj.{part.rsplit('.', 1)[1]}"] = piece
        else:
            state[name] = tensor
    layers = ("encoder.", "decoder.")
    state = {
        n.replace(s, f"model.{s}layers.", 1) if n.startswith(s) else n: t
        for n, t in state.items()
        for s in layers
        if n.startswith(s)
    } | {n: t for n, t in state.items() if not n.startswith(layers)}
    moved = {
        "places": "encoder.embed_positions.weight",
        "embedding.weight": "decoder.embed_tokens.weight",
    }
    moved |= {"text_places": "decoder.embed_positions.weight"}
    for ln, side in (("ln_memory", "encoder"), ("ln_out", "decoder")):
        moved |= {f"{ln}.{kind}": f"{side}.layer_norm.{kind}" for kind in ("weight", "bias")}
    for conv in ("conv1", "conv2"):
        moved |= {f"{conv}.{kind}": f"encoder.{conv}.{kind}" for kind in ("weight", "bias")}
    state = {f"model.{moved[n]}" if n in moved else n: t for n, t in state.items()}
    state["proj_out.weight"] = state["model.decoder.embed_tokens.weight"]
    theirs.load_state_dict(state)
    return theirs


def test_its_memory_and_logits_are_those_of_whisper(listener):
    tok = hearing.ByteBPE.pretrained(hearing.NAME)
    samples = hearing.read_wav()
    mel = hearing.log_mel(samples)[None]
    words = tok.encode(" And Mr. John Dashwood had then leisure")
    ids = torch.tensor([[hearing.BEGIN, hearing.PLAIN, *words]])
    with torch.no_grad():
        theirs = theirs_of(listener)(input_features=mel, decoder_input_ids=ids)
        memory = listener.hear(mel)
        logits = listener.predict(ids, memory)
    assert (memory - theirs.encoder_last_hidden_state).abs().max() < 1e-3
    assert (logits - theirs.logits).abs().max() < 1e-3


def test_one_head_looks_at_each_word_while_it_is_spoken(listener):
    said, samples = hearing.alignment(), hearing.read_wav()
    tok = hearing.ByteBPE.pretrained(hearing.NAME)
    with torch.no_grad():
        memory = listener.hear(hearing.log_mel(samples)[None])
    ids = hearing.write(listener.predict, memory)
    spoken = hearing.tokens_of_words(tok, ids)
    assert [word for word, _ in spoken] == said["words"]
    rows = hearing.rows_of_words(hearing.maps(listener, samples, ids)[2, 1], spoken)
    found = zip(hearing.instants(rows), said["times"], strict=True)
    assert all(begin <= instant <= end for instant, (begin, end) in found)
