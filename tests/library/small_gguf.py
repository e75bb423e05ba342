"""Small GGUF files, written by the package `gguf`: a random Llama, with a tokenizer or without."""

import gguf
import numpy as np

KINDS = {name: gguf.GGMLQuantizationType[name] for name in ("F32", "F16", "Q8_0", "Q4_1")}
SIZES = {"context_length": 64, "embedding_length": 64, "block_count": 2, "feed_forward_length": 96}
SIZES |= {"head_count": 4, "head_count_kv": 2, "layer_norm_rms_eps": 1e-5, "rope_freq_base": 1e5}
SHAPES = {"attn_q": (64, 64), "attn_k": (32, 64), "attn_v": (32, 64), "attn_output": (64, 64)}
SHAPES |= {"ffn_gate": (96, 64), "ffn_up": (96, 64), "ffn_down": (64, 96)}
SHAPES |= {"attn_norm": (64,), "ffn_norm": (64,)}


def write_gguf(path, kind="F32", tied=True, arch="llama", settings=(), fill=None, **changes):
    """A small random Llama, its matrices packed as `kind`; `settings` are (method, value)."""
    rng, writer = np.random.default_rng(0), gguf.GGUFWriter(path, arch)
    sizes = {"vocab_size": 50, **SIZES, **changes}
    for name, *values in (*sizes.items(), *settings):
        getattr(writer, f"add_{name}")(*values)
    shapes = {f"blk.{i}.{name}": shape for i in range(2) for name, shape in SHAPES.items()}
    shapes |= {"token_embd": (50, 64), "output_norm": (64,)}
    shapes |= {} if tied else {"output": (50, 64)}
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
