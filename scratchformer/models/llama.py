"""Llama: GPT as it is built since GPT-2, in one flat file, in reading order.

What differs from `gpt.py`: RMSNorm, which only scales (Zhang and Sennrich 2019); positions by
rotation (Su et al. 2021) in place of a table; SwiGLU, a gated feed-forward network (Shazeer 2020);
keys and values that several heads share (Ainslie et al. 2023); no biases and no dropout. Two are
switches, since published models differ in them: `qk_norm` (Henry et al. 2020) and `window`.

Names and files are those of Hugging Face's Llama, Qwen3 (with `qk_norm`) and Mistral (with a
`window`), and any of the three opens what `save` writes. Not handled: experts, stretched rotations
(`rope_scaling`), and biases.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from scratchformer.attention import KeyValueCache, scaled_dot_product_attention
from scratchformer.blocks import check_sizes
from scratchformer.data.gguf import read_gguf, unpack
from scratchformer.data.real_model import find_real_model
from scratchformer.models.llama_files import (
    from_hugging_face,
    gguf_name,
    gguf_sizes,
    halves_together,
    to_hugging_face,
)
from scratchformer.models.pretrained import (
    load_model,
    refuse_no_numbers,
    refuse_other_shapes,
    write_model,
)


@dataclass(frozen=True)
class LlamaConfig:
    """The size of a Llama. Raises ValueError for a size that cannot be built."""

    vocab_size: int
    context_length: int  # tokens that `forward` takes; no table has a row for each
    d_model: int
    n_heads: int
    n_layers: int
    n_kv_heads: int | None = None  # heads of keys and values, shared by groups; None: n_heads
    head_dim: int | None = None  # width D of a head; None: d_model / n_heads
    d_ff: int | None = None  # None: 8/3 d_model, as many weights as two matrices of 4 d_model have
    qk_norm: bool = False  # an RMSNorm on each query and key, as in Qwen3: scores stay small
    window: int | None = None  # a token attends to so many, itself included; None: to all
    tied: bool = True  # a token is read and written with the same vector
    rope_base: float = 10_000.0  # larger: slower turns, for longer texts
    norm_eps: float = 1e-6

    def __post_init__(self):
        check_sizes(self, "n_kv_heads", "head_dim", "d_ff", "window")
        if self.n_heads % self.kv_heads != 0:
            raise ValueError(
                f"n_heads={self.n_heads} is not divisible by n_kv_heads={self.kv_heads}"
            )
        for name in ("rope_base", "norm_eps"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}={getattr(self, name)}, expected more than 0, and finite")
        if self.D % 2:
            raise ValueError(f"heads are {self.D} wide, expected an even number: a pair turns")

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values: n_kv_heads, or n_heads where that is None."""
        return self.n_kv_heads or self.n_heads

    @property
    def D(self) -> int:
        """Width of a head."""
        return self.head_dim or self.d_model // self.n_heads

    @property
    def hidden(self) -> int:
        """Width of the feed-forward network: d_ff, or 8/3 d_model where that is None."""
        return self.d_ff or round(8 * self.d_model / 3)


class RMSNorm(nn.Module):
    """x / √(mean(x²) + eps), times a learned weight: LayerNorm without the mean and the bias."""

    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        # squares of 16-bit numbers would lose most of their digits
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        wide = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


def rotate_halves(x: Float[Tensor, "B H T D"], start: int, base: float) -> Float[Tensor, "B H T D"]:
    """Turn channels i and i + D/2 at position t by t · base^(-2i / D); row 0 is at `start`.

    `positions.rotary` turns neighbours, channels 2i and 2i + 1. Scores are the same in both
    layouts if the channels are put in order; this is the one that published weights expect.
    """
    T, D = x.shape[-2:]
    t = torch.arange(start, start + T, device=x.device, dtype=torch.float32)
    rate = base ** -(torch.arange(0, D, 2, device=x.device, dtype=torch.float32) / D)
    angle = torch.outer(t, rate)  # (T, D/2)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)  # (B, H, T, D/2) each
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class WindowCache:
    """Keys and values of the last `window` - 1 tokens; its length counts all that it has read."""

    def __init__(self, window: int):
        self.window, self.length = window, 0
        self.k = self.v = torch.empty(0)

    def __len__(self) -> int:
        return self.length

    def append(self, k: Float[Tensor, "B H T D"], v: Float[Tensor, "B H T D"]) -> None:
        """Add T positions; then `k` and `v` hold what the T new tokens may look at.

        Raises ValueError for another batch size.
        """
        self.length += k.shape[2]
        if self.k.numel():
            if len(self.k) != len(k):
                raise ValueError(f"cache is for a batch of {len(self.k)}, got {len(k)}")
            first = max(0, self.k.shape[2] - (self.window - 1))  # of those still within reach
            k = torch.cat((self.k[:, :, first:], k), dim=2)
            v = torch.cat((self.v[:, :, first:], v), dim=2)
        self.k, self.v = k, v


class Attention(nn.Module):
    """Causal attention: n_heads queries, and n_kv_heads keys and values that they share."""

    records = True  # `recorded_attention` may ask it for its weights

    def __init__(self, config: LlamaConfig):
        super().__init__()
        c = self.config = config
        self.q_proj = nn.Linear(c.d_model, c.n_heads * c.D, bias=False)
        self.k_proj = nn.Linear(c.d_model, c.kv_heads * c.D, bias=False)
        self.v_proj = nn.Linear(c.d_model, c.kv_heads * c.D, bias=False)
        self.o_proj = nn.Linear(c.n_heads * c.D, c.d_model, bias=False)
        if c.qk_norm:
            self.q_norm, self.k_norm = RMSNorm(c.D, c.norm_eps), RMSNorm(c.D, c.norm_eps)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        cache: KeyValueCache | WindowCache | None = None,
        mask: Bool[Tensor, "B S"] | None = None,
        need_weights: bool = False,
    ) -> Float[Tensor, "B T C"] | tuple[Float[Tensor, "B T C"], Float[Tensor, "B H T K"]]:
        c, T = self.config, x.shape[1]
        start = len(cache) if cache is not None else 0  # tokens read before these
        q, k, v = self.project(x, start)
        if cache is not None:
            cache.append(k, v)
            k, v = cache.k, cache.v  # (B, kv_heads, K, D)
        allowed = self.may_attend(start, T, k.shape[2], x.device)  # (T, K)
        if mask is not None:
            allowed = allowed & mask[:, None, None, -k.shape[2] :]  # (B, 1, T, K)
        group = c.n_heads // c.kv_heads  # queries 0 to group - 1 share key 0, and so on
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        if need_weights:
            heads, weights = scaled_dot_product_attention(q, k, v, allowed)
            return self.o_proj(heads.transpose(1, 2).flatten(2)), weights
        heads = F.scaled_dot_product_attention(q, k, v, allowed)  # (B, n_heads, T, D)
        return self.o_proj(heads.transpose(1, 2).flatten(2))

    def project(
        self, x: Float[Tensor, "B T C"], start: int = 0
    ) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B K T D"], Float[Tensor, "B K T D"]]:
        """Queries of all H heads, and keys and values of the K heads of keys; row 0 is at `start`.

        Queries and keys are turned to their places.
        """
        c, (B, T, _) = self.config, x.shape
        q = self.q_proj(x).view(B, T, c.n_heads, c.D)
        k = self.k_proj(x).view(B, T, c.kv_heads, c.D)
        v = self.v_proj(x).view(B, T, c.kv_heads, c.D).transpose(1, 2)  # (B, kv_heads, T, D)
        if c.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        q = rotate_halves(q.transpose(1, 2), start, c.rope_base)  # (B, n_heads, T, D)
        k = rotate_halves(k.transpose(1, 2), start, c.rope_base)  # (B, kv_heads, T, D)
        return q, k, v

    def may_attend(self, start: int, T: int, K: int, device: torch.device) -> Bool[Tensor, "T K"]:
        """True where a query, at `start` and after, may look at a key: the last K up to it."""
        query = torch.arange(start, start + T, device=device)[:, None]
        key = torch.arange(start + T - K, start + T, device=device)
        allowed = key <= query
        if self.config.window is not None:
            allowed = allowed & (key > query - self.config.window)
        return allowed


class SwiGLU(nn.Module):
    """down(silu(gate(x)) · up(x)): one half of the hidden layer decides what the other may say."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaBlock(nn.Module):
    """The block of chapter 09 with other parts: each reads a norm of the stream and adds to it."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.input_layernorm = RMSNorm(config.d_model, config.norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config.d_model, config.norm_eps)
        self.mlp = SwiGLU(config.d_model, config.hidden)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        cache: KeyValueCache | WindowCache | None = None,
        mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        x = x + self.self_attn(self.input_layernorm(x), cache, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class NothingDrawn(TorchFunctionMode):
    """Where it holds, `torch.nn.init` leaves weights alone, which no memory holds yet."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__module__", "") == "torch.nn.init":
            return kwargs["tensor"]
        return function(*args, **(kwargs or {}))


class Llama(nn.Module):
    """A decoder-only transformer of today: logits at position t depend on tokens up to t only."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        c = self.config = config
        self.embed_tokens = nn.Embedding(c.vocab_size, c.d_model)
        self.layers = nn.ModuleList(LlamaBlock(c) for _ in range(c.n_layers))
        self.norm = RMSNorm(c.d_model, c.norm_eps)
        self.lm_head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        if c.tied:
            self.lm_head.weight = self.embed_tokens.weight
        for name, p in self.named_parameters():
            if p.dim() == 2:  # those that add to the stream start smaller, as in GPT-2
                into_stream = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * c.n_layers) if into_stream else 0.02)

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.config.context_length

    def new_cache(self) -> list[KeyValueCache | WindowCache]:
        """An empty cache for each block, to be given to `forward` again and again."""
        if self.config.window is not None:
            return [WindowCache(self.config.window) for _ in self.layers]
        return [KeyValueCache(self.context_length) for _ in self.layers]

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        cache: list[KeyValueCache | WindowCache] | None = None,
        mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits: those at place t are for the token after it.

        With a `cache`, ids follow the S - T tokens that it has read. `mask`, True for real tokens,
        hides padding among all S. Only distances count for a rotation, so that padding on the left
        changes no real token's logits. Raises ValueError for more than `context_length` tokens or
        a mask that does not fit.
        """
        S = ids.shape[1] + (len(cache[0]) if cache else 0)
        if self.context_length < S:
            raise ValueError(
                f"got {S} tokens, expected at most context_length={self.context_length}"
            )
        if mask is not None and (mask.dtype != torch.bool or mask.shape != (len(ids), S)):
            got = f"{mask.dtype} {tuple(mask.shape)}"
            raise ValueError(f"mask is {got}, expected torch.bool {(len(ids), S)} (True = real)")
        x = self.embed_tokens(ids)  # (B, T, C)
        for i, layer in enumerate(self.layers):
            x = layer(x, cache[i] if cache else None, mask)
        return self.lm_head(self.norm(x))

    def save(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors in Hugging Face's format to `folder`."""
        write_model(folder, *to_hugging_face(self.config, self.named_parameters()), format="pt")

    @classmethod
    def pretrained(cls, name: str) -> "Llama":
        """A published model: "smollm2-135m-instruct", 134,515,008 weights, kept in 4 and 8 bits.

        Its tokenizer is `ByteBPE.pretrained(name)`. Errors are those of `find_real_model`.
        """
        return cls.from_gguf(find_real_model(name))

    @classmethod
    def from_gguf(cls, path: str | Path) -> "Llama":
        """A Llama with the weights of a GGUF file, unpacked to float32.

        Raises ValueError for another architecture or a file that does not fit.
        """
        settings, tensors = read_gguf(path)
        try:
            with torch.device("meta"), NothingDrawn():  # the weights below take their places
                model = cls(LlamaConfig(**gguf_sizes(settings, tensors)))
            names = {name: gguf_name(name) for name, _ in model.named_parameters()}
            if unused := sorted(set(tensors) - set(names.values())):
                raise ValueError(f"{unused[0]} is in it, which Llama does not have")
            weights = {}
            for name, theirs in names.items():
                weight = torch.from_numpy(unpack(tensors[theirs]))
                refuse_no_numbers(theirs, weight, path)
                if name.endswith("q_proj.weight"):
                    weight = halves_together(weight, model.config.n_heads)
                elif name.endswith("k_proj.weight"):
                    weight = halves_together(weight, model.config.kv_heads)
                weights[name] = weight
            parameters: dict[str, Tensor] = dict(model.named_parameters())
            refuse_other_shapes(parameters, weights, path)
        except KeyError as error:
            raise ValueError(f"{path} is of another model: {error} is missing in it") from error
        except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
            raise ValueError(f"{path} is of another model: {error}") from error
        model.load_state_dict(weights, strict=False, assign=True)  # a tied head is named once
        if model.config.tied:
            model.lm_head.weight = model.embed_tokens.weight
        return model.eval()

    @classmethod
    def from_pretrained(cls, source: str | Path) -> "Llama":
        """A Llama with weights from a folder, `save`'s or Hugging Face's, or from their hub.

        Reads the architectures llama, qwen3 and mistral, from one file of weights or several. A
        head in the file counts, though the config call it tied. Raises
        ValueError for another architecture or files that do not fit, and OSError, which says what
        to do, if the source cannot be had.
        """
        return load_model(source, cls, LlamaConfig, from_hugging_face)
