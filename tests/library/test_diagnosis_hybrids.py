"""diagnose at home in hybrids: a memory of fixed size beside attention, right and with faults."""

from importlib import import_module

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from scratchformer.diagnosis import diagnose
from scratchformer.diagnosis.transformers_calls import (
    cache_of_transformers,
    padding_of_transformers,
)

LENGTH, C, D, CHUNK = 132, 32, 16, 64


class Memory(nn.Module):
    """A short convolution, and the gated delta rule in chunks; `fault` breaks a line of it."""

    def __init__(self, fault):
        super().__init__()
        self.qkv = nn.Linear(C, 3 * D, bias=False)
        self.conv = nn.Conv1d(3 * D, 3 * D, 4, groups=3 * D, bias=False)
        self.gates, self.out, self.fault = nn.Linear(C, 2), nn.Linear(D, C), fault

    def forward(self, x, cache, mask):
        if mask is not None and self.fault != "padding in the memory":
            x = x * mask[..., None]
        q, k, v = self.convolved(self.qkv(x).mT, cache).mT.chunk(3, dim=-1)  # (B, T, D) each
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        write, g = self.gates(x).sigmoid().chunk(2, dim=-1)  # (B, T, 1) each
        g, n = g.log(), CHUNK // 2 if self.fault == "chunks of half the size" else CHUNK
        memory, parts = cache.get("memory", x.new_zeros(len(x), D, D)), []
        for chunk in zip(*(t.split(n, dim=1) for t in (q, k, v, write, g)), strict=True):
            if parts and self.fault == "forgotten between chunks":
                memory = torch.zeros_like(memory)
            memory, read = self.read_and_write(memory, *chunk)
            parts.append(read)
        if self.fault != "memory not kept":
            cache["memory"] = memory
        return self.out(torch.cat(parts, dim=1))

    def convolved(self, x, cache):
        """(B, 3 D, T), each with its three predecessors, of which the cache holds the last."""
        before = cache.get("conv", x.new_zeros(*x.shape[:2], 3))
        if self.fault == "convolution looks ahead":
            return F.silu(self.conv(F.pad(x, (2, 1))))
        x = torch.cat([before, x], dim=-1)
        if self.fault != "convolution's state lost":
            cache["conv"] = x[..., -3:]
        return F.silu(self.conv(x))

    def read_and_write(self, memory, q, k, v, write, g):
        """The memory after a chunk (B, n, ·), and what its queries read."""
        g = g.cumsum(dim=1)  # (B, n, 1)
        decay = (g - g.mT).exp()
        before = torch.eye(q.shape[1]) + (write * k @ k.mT * decay).tril(-1)  # (B, n, n)
        new = write * (v - k * g.exp() @ memory)
        new = torch.linalg.solve_triangular(before, new, upper=False, unitriangular=True)
        seen = (q @ k.mT * decay).tril(int(self.fault == "mask off by one"))
        read = q * g.exp() @ memory + seen @ new
        kept = (g[:, -1:] - g).exp()
        return memory * g[:, -1:].exp() + (k * kept).mT @ new, read


class Hybrid(nn.Module):
    """A layer of memory, and one of attention without positions."""

    def __init__(self, fault=""):
        super().__init__()
        self.table, self.memory, self.qkv = nn.Embedding(31, C), Memory(fault), nn.Linear(C, 3 * C)
        self.norms = nn.ModuleList(nn.RMSNorm(C) for _ in range(3))
        self.out, self.head = nn.Linear(C, C), nn.Linear(C, 31)

    def new_cache(self):
        return {}

    def forward(self, ids, cache=None, mask=None):
        cache, x = {} if cache is None else cache, self.table(ids)
        x = x + self.memory(self.norms[0](x), cache, mask)
        q, k, v = (t.unflatten(-1, (4, 8)).transpose(1, 2) for t in self.heads(x))
        if "k" in cache:
            k, v = torch.cat([cache["k"], k], dim=2), torch.cat([cache["v"], v], dim=2)
        cache |= {"k": k, "v": v}
        T, S = q.shape[2], k.shape[2]
        closed = torch.ones(T, S).triu(S - T + 1).bool()
        if mask is not None:
            closed = closed | ~mask[:, None, None] & ~torch.eye(T).bool()
        scores = (q @ k.mT / 8**0.5).masked_fill(closed, -1e9)
        x = x + self.out((scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))
        return self.head(self.norms[2](x))

    def heads(self, x):
        return self.qkv(self.norms[1](x)).chunk(3, dim=-1)


FAULTS = {
    "mask off by one": ("causality", "a mask inside the chunks of a memory"),
    "convolution looks ahead": ("causality", "a convolution that looks ahead"),
    "memory not kept": ("cache", "begins at 0"),
    "convolution's state lost": ("cache", "begins at 0"),
    "forgotten between chunks": ("cache", "from chunk to chunk"),
    "padding in the memory": ("padding", "attended to"),
}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_a_hybrid_is_healthy_whatever_the_size_of_its_chunks():
    for fault in ("", "chunks of half the size"):
        report = diagnose(Hybrid(fault), 31, LENGTH)
        assert report.healthy, str(report)
    passed = [finding.test for finding in report.findings if finding.verdict == "passed"]
    assert {"causality", "prefix", "padding", "cache", "initial loss", "gradients"} <= {*passed}
    assert "over a chunk's end" in report["cache"].measured


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_memory_is_caught(fault):
    test, suspect = FAULTS[fault]
    report = diagnose(Hybrid(fault), 31, LENGTH)
    assert report.faults == [test], str(report)
    assert any(suspect in s for s in report[test].suspects), str(report)


# --- classes of transformers --------------------------------------------------------------------


SIZE = {"vocab_size": 29, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2}
SIZE |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 72}
SIZE |= {"head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
MAMBA = {"mamba_d_state": 8, "mamba_headdim": 8, "n_mamba_heads": 8, "mamba_ngroups": 1}
ZAMBA = MAMBA | {"layers_block_type": ["hybrid"] * 2, "hybrid_layer_ids": [0, 1]}
ZAMBA |= {"num_mem_blocks": 1, "chunk_size": 8}
GRIFFIN = {"lru_width": 32, "block_types": ["recurrent", "attention"], "attention_window_size": 16}
GRANITE = {"layer_types": ["linear_attention", "full_attention"], "mamba_n_heads": 4}
GRANITE |= {"mamba_d_head": 16, "mamba_d_state": 8, "num_local_experts": 2}
GRANITE |= {"num_experts_per_tok": 1, "shared_intermediate_size": 16, "mamba_chunk_size": 32}
NEXT = {"layer_types": GRANITE["layer_types"], "linear_num_key_heads": 2, "num_experts": 2}
NEXT |= {"linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
NEXT |= {"num_experts_per_tok": 1, "moe_intermediate_size": 16}
NEXT |= {"shared_expert_intermediate_size": 16}
MAMBA2 = {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8, "chunk_size": 32}
RWKV = {"attention_hidden_size": 32, "context_length": 72}


def report_of(kind, **sizes):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.AutoConfig.for_model(kind, **SIZE | sizes)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    calls = {"cache": cache_of_transformers(model), "padding": padding_of_transformers(model)}
    return diagnose(model, context_length=68, **calls)


@pytest.mark.parametrize(
    ("kind", "sizes", "test", "verdict", "words"),
    [
        ("qwen3_next", NEXT, "cache", "passed", "over a chunk's end"),
        ("granitemoehybrid", GRANITE, "cache", "passed", "over a chunk's end"),
        ("mamba2", MAMBA2, "padding", "passed", ""),
        ("camembert", {"is_decoder": True}, "padding", "passed", ""),
        ("zamba2", ZAMBA, "shared weights", "passed", ""),
        ("recurrent_gemma", GRIFFIN, "cache", "left out", "returns none: give cache="),
        ("recurrent_gemma", GRIFFIN, "padding", "noted", "a state takes in the padding"),
        ("falcon_mamba", {"state_size": 4}, "cache", "noted", "one token at a time"),
        ("rwkv", RWKV, "gradients", "passed", ""),
    ],
)
def test_a_class_is_not_called_ill_for_what_it_never_promised(kind, sizes, test, verdict, words):
    report = report_of(kind, **sizes)
    assert report[test].verdict == verdict and words in str(report[test]), str(report)
    # Zamba's step does not clamp its time steps as its scan does, and the state of RWKV takes
    # the rows of a batch for tokens: these are faults, and found
    assert report.faults == (["cache"] if kind in ("zamba2", "rwkv") else []), str(report)


def ahead(right, x, *args, **options):
    return right(x.roll(-1, dims=-1), *args, **options)


def forgets(right, *args, initial_state, **options):
    return right(*args, initial_state=torch.zeros_like(initial_state), **options)


def loses(right, x, state, *args, **options):
    return right(x, torch.zeros_like(state), *args, **options)


@pytest.mark.parametrize(
    ("line", "wrong", "test"),
    [
        ("causal_conv1d_fn", ahead, "causality"),
        ("torch_recurrent_gated_delta_rule", forgets, "cache"),
        ("causal_conv1d_update", loses, "cache"),
    ],
)
def test_a_fault_planted_in_a_hybrid_of_transformers_is_caught(monkeypatch, line, wrong, test):
    name = "transformers.models.qwen3_next.modeling_qwen3_next"
    pytest.importorskip("transformers", reason="transformers is not installed")
    module = import_module(name)
    if (right := getattr(module, line, None)) is None:
        pytest.skip(f"no {line} in this release")
    monkeypatch.setattr(module, line, lambda *args, **options: wrong(right, *args, **options))
    assert report_of("qwen3_next", **NEXT).faults == [test]
