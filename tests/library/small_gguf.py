"""Small GGUF files, written by the package `gguf`: a random Llama, with a tokenizer or without."""

import gguf
import numpy as np

KINDS = {name: gguf.GGMLQuantizationType[name] for name in ("F32", "F16", "Q8_0", "Q4_1")}
SIZES = {"context_length": 64, "embedding_length": 64, "block_count": 2, "feed_forward_length": 96}
SIZES |= {"head_count": 4, "head_count_kv": 2, "layer_norm_rms_eps": 1e-5, "rope_freq_base": 1e5}
SHAPES = {"attn_q": (64, 64), "attn_k": (32, 64), "attn_v": (32, 64), "attn_output": (64, 64)}
SHAPES |= {"ffn_gate": (96, 64), "ffn_up": (96, 64), "ffn_down": (64, 96)}
SHAPES |= {"attn_norm": (64,), "ffn_norm": (64,)}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def write_gguf(path, kind="F32", tied=True, arch="llama", settings=(), fill=None, **changes):
    """A small random Llama, its matrices packed as `kind`; `settings` are (method, value)."""
    blocks = {f"blk.{i}.{name}": shape for i in range(2) for name, shape in SHAPES.items()}
    shapes = {**blocks, "token_embd": (50, 64), "output_norm": (64,)}
    shapes |= {} if tied else {"output": (50, 64)}
    sizes = {"vocab_size": 50, **SIZES, **changes}
    return _write(path, kind, arch, [*sizes.items(), *settings], shapes, fill)


def write_real_shape(path):
    """A small random Llama with SmolLM2's blocks, heads and special tokens, all bytes, and *ab*."""
    C, d_ff, keys = 9 * 32, 32, 3 * 32
    shapes = {"attn_q": (C, C), "attn_k": (keys, C), "attn_v": (keys, C), "attn_output": (C, C)}
    shapes |= {"ffn_gate": (d_ff, C), "ffn_up": (d_ff, C), "ffn_down": (C, d_ff)}
    shapes |= {"attn_norm": (C,), "ffn_norm": (C,)}
    shapes = {f"blk.{i}.{name}": shape for i in range(30) for name, shape in shapes.items()}
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    names = [*SPECIAL, *map(chr, printable), *(chr(256 + i) for i in range(len(others))), "ab"]
    shapes |= {"token_embd": (len(names), C), "output_norm": (C,)}
    sizes = {**SIZES, "context_length": 512, "embedding_length": C, "feed_forward_length": d_ff}
    sizes |= {"block_count": 30, "head_count": 9, "head_count_kv": 3}
    types = [3] * len(SPECIAL) + [1] * 257
    settings = [*sizes.items(), ("vocab_size", len(names)), *tokenizer(names, types)["settings"]]
    return _write(path, "Q8_0", "llama", settings, shapes)


def _write(path, kind, arch, settings, shapes, fill=None):
    rng, writer = np.random.default_rng(0), gguf.GGUFWriter(path, arch)
    for name, *values in settings:
        getattr(writer, f"add_{name}")(*values)
    for name, shape in shapes.items():
        weight = rng.normal(0, 0.2, shape).astype(np.float32)
        weight[0] = weight[0] if fill is None else fill
        packed_as = KINDS[kind] if len(shape) == 2 else KINDS["F32"]
        weight = gguf.quantize(weight, packed_as)
        writer.add_tensor(f"{name}.weight", weight, raw_dtype=packed_as)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tokenizer(names, types, kind="gpt2", merges=()):
    settings = [("tokenizer_model", kind), ("tokenizer_pre", "smollm"), ("token_list", names)]
    return {"settings": [*settings, ("token_types", types), ("token_merges", merges or ["a b"])]}
