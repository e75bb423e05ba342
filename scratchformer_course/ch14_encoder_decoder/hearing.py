"""Whisper tiny.en (OpenAI, Radford et al. 2022): its recording, its spectrogram, its numbers.

The recording is one sentence of Jane Austen, read for LibriVox, whose recordings are in the public
domain. The times of its words are those of a forced aligner, a program that is given the text:
`recording.json` says which. The model itself is the chapter's; here it is built of the library's
parts, so that the chapter's can be compared with it.
"""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scratchformer.attention import causal_mask, recorded_attention
from scratchformer.blocks import FeedForward, TransformerBlock
from scratchformer.data.ctranslate2 import read_ctranslate2
from scratchformer.data.real_model import find_real_model
from scratchformer.models.seq2seq import DecoderBlock
from scratchformer.tokenizers import ByteBPE

NAME = "whisper-tiny.en"
RATE, SECONDS, STEP = 16_000, 30, 0.02  # samples a second; a whole spectrogram; one memory vector
V, C, H, LAYERS, BANDS = 51_864, 384, 6, 4, 80
BEGIN, PLAIN, END = 50_257, 50_362, 50_256  # PLAIN: write words, and no times
RECORDING = Path(__file__).with_name("recording.wav")


# ---- sound ----


def read_wav(path: str | Path = RECORDING) -> Tensor:
    """A .wav file of any rate and number of channels as samples in [-1, 1], 16,000 a second."""
    from scipy.io import wavfile
    from scipy.signal import resample_poly

    rate, samples = wavfile.read(path)
    if samples.dtype.kind in "iu":
        limits = np.iinfo(samples.dtype)
        middle = (limits.max + 1.0 + limits.min) / 2  # 128 where samples are of 8 bits
        samples = (samples - middle) / ((limits.max + 1.0 - limits.min) / 2)
    if samples.ndim > 1:
        samples = samples.mean(axis=1)
    if rate != RATE:
        common = math.gcd(rate, RATE)
        samples = resample_poly(samples, RATE // common, rate // common)
    return torch.from_numpy(np.asarray(samples, np.float32))[: SECONDS * RATE]


@cache
def _bands() -> Tensor:
    """(80, 201): how much of each frequency belongs to each band, on the scale of Slaney."""
    highest = 15 + 27 * math.log(8) / math.log(6.4)  # 8,000 Hz
    mel = torch.linspace(0, highest, BANDS + 2, dtype=torch.float64)
    hertz = torch.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((mel - 15) / 27))
    low, middle, high = hertz[:-2, None], hertz[1:-1, None], hertz[2:, None]
    frequencies = torch.linspace(0, RATE / 2, 201, dtype=torch.float64)
    rising = (frequencies - low) / (middle - low)
    falling = (high - frequencies) / (high - middle)
    return (torch.minimum(rising, falling).clamp(min=0) * 2 / (high - low)).float()


def log_mel(samples: Tensor) -> Tensor:
    """The spectrogram that Whisper reads, (80, 3000): 30 seconds, a column for each 10 ms."""
    padded = F.pad(samples, (0, SECONDS * RATE - len(samples)))
    window = torch.hann_window(400)
    spectrum = torch.stft(padded, 400, 160, window=window, return_complex=True)
    loudness = _bands() @ spectrum[:, :-1].abs() ** 2
    decades = loudness.clamp(min=1e-10).log10()
    return (decades.maximum(decades.max() - 8) + 4) / 4


def alignment() -> dict[str, Any]:
    """What is said in the recording: `words`, and the `times` of each, in seconds."""
    return json.loads(RECORDING.with_suffix(".json").read_text(encoding="utf-8"))


def swapped(samples: Tensor, after: float) -> Tensor:
    """The two parts of a recording, the second one first; `after` says where to cut it."""
    cut = round(after * RATE)
    return torch.cat([samples[cut:], samples[:cut]])


# ---- the file, and its names ----

NAMES = {
    "self_attention/layer_norm": "ln_1",
    "self_attention/linear_0": "attn.c_attn",
    "self_attention/linear_1": "attn.c_proj",
    "attention/layer_norm": "ln_cross",
    "attention/linear_0": "cross_attn.query",
    "attention/linear_1": "cross_attn.key_value",
    "attention/linear_2": "cross_attn.c_proj",
    "ffn/layer_norm": "ln_2",
    "ffn/linear_0": "mlp.c_fc",
    "ffn/linear_1": "mlp.c_proj",
    "decoder/embeddings": "embedding",
    "encoder/position_encodings/encodings": "places",
    "decoder/position_encodings/encodings": "text_places",
    "encoder/layer_norm": "ln_memory",
    "decoder/layer_norm": "ln_out",
    "encoder/conv": "conv",
    "gamma": "weight",
    "beta": "bias",
    "layer_": "",  # after layer_norm
    "/": ".",
}


def weights() -> dict[str, Tensor]:
    """The file's tensors under the chapter's names. Errors are those of `find_real_model`."""
    found = {}
    for name, tensor in read_ctranslate2(find_real_model(NAME)).items():
        if tensor.dtype == np.float32 and not name.startswith("decoder/projection"):  # tied
            for theirs, ours in NAMES.items():
                name = name.replace(theirs, ours)
            found[name] = torch.from_numpy(tensor)
    return found


def joined(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The chapter's names of a cross-attention's weights as the library's, which joins them."""
    result = {}
    for name, tensor in state.items():
        if ".query." in name:
            both = [tensor, state[name.replace("query", "key_value")]]
            result[name.replace("query", "c_attn")] = torch.cat(both)
        elif ".key_value." not in name:
            result[name] = tensor
    return result


# ---- the model, of the library's parts ----


class Listener(nn.Module):
    """Encoder and decoder with norms first and GELU, on a spectrogram; it is Whisper's."""

    def __init__(self, n_layers: int = LAYERS):
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, C, 3, padding=1)
        self.conv2 = nn.Conv1d(C, C, 3, padding=1, stride=2)
        self.places = nn.Parameter(0.02 * torch.randn(1500, C))
        self.embedding = nn.Embedding(V, C)
        self.text_places = nn.Parameter(0.02 * torch.randn(448, C))
        encoder = [TransformerBlock(C, H, activation="gelu") for _ in range(n_layers)]
        decoder = [DecoderBlock(C, H) for _ in range(n_layers)]
        for block in decoder:
            block.mlp = FeedForward(C, activation="gelu")
        self.encoder: Any = nn.ModuleList(encoder)
        self.decoder: Any = nn.ModuleList(decoder)
        self.ln_memory, self.ln_out = nn.LayerNorm(C), nn.LayerNorm(C)

    def hear(self, mel: Tensor) -> Tensor:
        """The memory, (B, 1500, C), of spectrograms (B, 80, 3000)."""
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        x = x + self.places
        for block in self.encoder:
            x = block(x)
        return self.ln_memory(x)

    def predict(self, ids: Tensor, memory: Tensor) -> Tensor:
        """Logits (B, T, V) of what follows each token."""
        T = ids.shape[1]
        x = self.embedding(ids) + self.text_places[:T]
        for block in self.decoder:
            x = x + block.attn(block.ln_1(x), mask=causal_mask(T))
            x = x + block.cross_attn(block.ln_cross(x), memory)
            x = x + block.mlp(block.ln_2(x))
        return self.ln_out(x) @ self.embedding.weight.T


@torch.no_grad()
def write(predict: Callable[[Tensor, Tensor], Tensor], memory: Tensor, n: int = 60) -> list[int]:
    """The ids that a model writes of what it has heard, the likeliest each time."""
    ids = torch.tensor([[BEGIN, PLAIN]])
    for _ in range(n):
        logits = predict(ids, memory)[0, -1, :BEGIN]
        if ids.shape[1] == 2:
            logits[[220, END]] = -torch.inf  # it has to begin with a word: no lone space, no end
        if (best := int(logits.argmax())) == END:
            break
        ids = torch.cat([ids, torch.tensor([[best]])], dim=1)
    return ids[0, 2:].tolist()


# ---- where it looks ----


def tokens_of_words(tok: ByteBPE, ids: list[int]) -> list[tuple[str, list[int]]]:
    """Each word that is written, with the positions of its tokens."""
    found: list[tuple[str, list[int]]] = []
    for t, i in enumerate(ids):
        piece = tok.decode([i])
        if piece.startswith(" ") or not found:
            found.append((piece.strip(), [t]))
        else:
            found[-1] = (found[-1][0] + piece, [*found[-1][1], t])
    return found


@torch.no_grad()
def maps(model: Listener, samples: Tensor, ids: list[int]) -> Tensor:
    """What each head reads while it writes each of the ids: (layers, heads, ids, steps)."""
    memory = model.hear(log_mel(samples)[None])
    with recorded_attention(model) as found:
        model.predict(torch.tensor([[BEGIN, PLAIN, *ids]]), memory)
    layers = [found[f"decoder.{i}.cross_attn"][0] for i in range(len(model.decoder))]
    steps = round(len(samples) / RATE / STEP)
    return torch.stack(layers)[:, :, 1:-1, :steps]  # the row that reads PLAIN says the first id


def rows_of_words(weights: Tensor, spoken: list[tuple[str, list[int]]]) -> Tensor:
    """(words, steps): the mean row of each word's tokens, of one head's map (ids, steps)."""
    return torch.stack([weights[positions].mean(dim=0) for _, positions in spoken])


def instants(rows: Tensor) -> list[float]:
    """The middle of the step that each row reads most, in seconds."""
    return [(int(row.argmax()) + 0.5) * STEP for row in rows]
