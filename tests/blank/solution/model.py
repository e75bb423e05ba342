import json
from pathlib import Path

import torch
import torch.nn.functional as F
from attention import MultiHeadAttention, attention, causal_mask, rotate_halves
from safetensors.torch import save_file
from torch import nn


def layer_norm(x, weight, bias, eps=1e-5):
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return weight * centred / (variance + eps).sqrt() + bias


class FeedForward(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class TransformerBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = FeedForward(d_model)

    def forward(self, x, mask=None, cache=None):
        x = x + self.attn(self.ln_1(x), mask, cache)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__()
        self.context_length = context_length
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context_length, d_model)
        self.h = nn.ModuleList(TransformerBlock(d_model, n_heads) for _ in range(n_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def new_cache(self):
        return [{} for _ in self.h]

    def forward(self, ids, cache=None):
        T = ids.shape[1]
        start = cache[0]["k"].shape[2] if cache and cache[0] else 0
        x = self.wte(ids) + self.wpe.weight[start : start + T]
        mask = causal_mask(start + T)[start:]
        for i, block in enumerate(self.h):
            x = block(x, mask, None if cache is None else cache[i])
        return self.lm_head(self.ln_f(x))


def save(model, folder):
    Path(folder).mkdir(parents=True, exist_ok=True)
    weights = {}
    for name, p in model.named_parameters():
        turned = name.startswith("h.") and p.dim() == 2
        weights[f"transformer.{name}"] = (p.detach().T if turned else p.detach()).contiguous()
    save_file(weights, str(Path(folder, "model.safetensors")), metadata={"format": "pt"})
    config = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": model.wte.weight.shape[0],
        "n_positions": model.context_length,
        "n_embd": model.wte.weight.shape[1],
        "n_layer": len(model.h),
        "n_head": model.h[0].attn.n_heads,
        "activation_function": "gelu_new",
    }
    Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")


def rms_norm(x, weight, eps=1e-6):
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    wide = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return weight * wide.to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):
        return rms_norm(x, self.weight, self.eps)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class SharedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, rope_base):
        super().__init__()
        D = d_model // n_heads
        self.n_heads, self.n_kv_heads, self.D, self.base = n_heads, n_kv_heads, D, rope_base
        self.q_proj = nn.Linear(d_model, n_heads * D, bias=False)
        self.k_proj = nn.Linear(d_model, n_kv_heads * D, bias=False)
        self.v_proj = nn.Linear(d_model, n_kv_heads * D, bias=False)
        self.o_proj = nn.Linear(n_heads * D, d_model, bias=False)

    def forward(self, x, cache=None):
        B, T, _ = x.shape
        start = cache["k"].shape[2] if cache else 0
        q = self.q_proj(x).view(B, T, self.n_heads, self.D).transpose(1, 2)
        k = self.k_proj(x).view(B, T, self.n_kv_heads, self.D).transpose(1, 2)
        v = self.v_proj(x).view(B, T, self.n_kv_heads, self.D).transpose(1, 2)
        positions = torch.arange(start, start + T)
        q, k = (rotate_halves(t, positions, self.base) for t in (q, k))
        if cache is not None:
            if cache:
                k, v = torch.cat((cache["k"], k), dim=2), torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v
        group = self.n_heads // self.n_kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        heads, _ = attention(q, k, v, causal_mask(start + T)[start:])
        return self.o_proj(heads.transpose(1, 2).flatten(2))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, d_ff, rope_base, norm_eps):
        super().__init__()
        self.input_layernorm = RMSNorm(d_model, norm_eps)
        self.self_attn = SharedAttention(d_model, n_heads, n_kv_heads, rope_base)
        self.post_attention_layernorm = RMSNorm(d_model, norm_eps)
        self.mlp = SwiGLU(d_model, d_ff)

    def forward(self, x, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(
        self, vocab_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, rope_base, norm_eps
    ):
        super().__init__()
        sizes = d_model, n_heads, n_kv_heads, d_ff, rope_base, norm_eps
        self.embed_tokens = nn.Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(LlamaBlock(*sizes) for _ in range(n_layers))
        self.norm = RMSNorm(d_model, norm_eps)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = self.embed_tokens.weight

    def new_cache(self):
        return [{} for _ in self.layers]

    def forward(self, ids, cache=None):
        x = self.embed_tokens(ids)
        for i, layer in enumerate(self.layers):
            x = layer(x, None if cache is None else cache[i])
        return self.lm_head(self.norm(x))
