"""Models on disk: a folder with config.json and model.safetensors, ours or Hugging Face's.

Only GPT-2's layout is translated. What is needed to go on with a training run is in checkpoints.
"""

import json
import os
import warnings
from dataclasses import asdict, fields
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from scratchformer.files import atomic_write, is_offline

FILES = ("config.json", "model.safetensors")
# What our GPT computes, in Hugging Face's terms; a config that says otherwise is another model.
GPT2 = {"model_type": "gpt2", "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
GPT2 |= {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}
GPT2 |= {"tie_word_embeddings": True, "add_cross_attention": False}


def save_model(folder: str | Path, model: nn.Module, config: dict) -> None:
    """Write `config` and the model's parameters, a shared one once, to `folder`."""
    weights = {name: p.detach().contiguous() for name, p in model.named_parameters()}
    _write(folder, config, weights)


def _write(folder: str | Path, config: dict, weights: dict[str, Tensor], **metadata: str) -> None:
    """Both files. Until the new weights are written, the old model is whole."""
    with atomic_write(Path(folder) / FILES[1]) as part:
        safetensors.torch.save_file(weights, part, metadata or None)
        (Path(folder) / FILES[0]).unlink(missing_ok=True)  # new weights never meet an old config
    with atomic_write(Path(folder) / FILES[0]) as part:
        part.write_text(json.dumps(config, indent=1), encoding="utf-8")


def read_model(source: str | Path) -> tuple[dict, dict[str, Tensor]]:
    """Config and weights from a folder or, if there is none of this name, Hugging Face's hub."""
    if Path(source).is_dir():
        paths = [Path(source) / name for name in FILES]
        if missing := [path for path in paths if not path.is_file()]:
            raise FileNotFoundError(f"{missing[0]} is missing, expected a saved model there")
    else:
        paths = _downloaded(str(source))
    try:
        config = dict(json.loads(paths[0].read_text(encoding="utf-8")))
        return config, safetensors.torch.load_file(paths[1])
    except (ValueError, TypeError, SafetensorError) as error:
        raise ValueError(f"{source} is not a whole saved model ({error})") from error


def _downloaded(name: str) -> list[Path]:
    from huggingface_hub import hf_hub_download  # here: only a download needs it

    try:
        return [Path(hf_hub_download(name, f, local_files_only=is_offline())) for f in FILES]
    except Exception as error:  # whatever the network does, the reader learns what to do
        raise OSError(
            f"{name!r} is no folder, and Hugging Face's hub did not give it "
            f"({type(error).__name__}: {error}). Connect once, or save {' and '.join(FILES)} in a "
            "folder and pass its path."
        ) from error


def find_gpt2(name: str = "gpt2", download: bool = False) -> Path | None:
    """A folder with GPT-2's published weights, or None where there are none.

    Looks into the folder named by SCRATCHFORMER_GPT2, then into Hugging Face's cache. Only with
    `download` is anything fetched: 0.5 GB for "gpt2", 1.5, 3.2 and 6.4 GB for "gpt2-medium",
    "-large" and "-xl". A download that fails ends in a warning. Raises FileNotFoundError if
    SCRATCHFORMER_GPT2 is set and holds no model.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's, in a notebook without ipywidgets
        from huggingface_hub import try_to_load_from_cache
    if own := os.environ.get("SCRATCHFORMER_GPT2"):
        folder = Path(own).expanduser()
        if missing := [file for file in FILES if not (folder / file).is_file()]:
            raise FileNotFoundError(f"SCRATCHFORMER_GPT2 is {own}, where {missing[0]} is missing")
        return folder
    cached = [try_to_load_from_cache(name, file) for file in FILES]
    if all(isinstance(path, str) for path in cached):
        return Path(cached[0]).parent
    try:
        return _downloaded(name)[0].parent if download else None
    except OSError as error:
        warnings.warn(str(error), stacklevel=2)
        return None


def from_hugging_face(config: dict, weights: dict[str, Tensor]) -> tuple[dict, dict[str, Tensor]]:
    """GPT-2's config and weights in our terms: same names, matrices the other way round.

    Raises ValueError for another architecture. Dropout is left out: weights are loaded to be used.
    """
    for key, value in GPT2.items():
        if config.get(key, value) != value:
            raise ValueError(f"{key}={config[key]!r}, expected {value!r}: GPT-2's architecture")
    ours = {
        "vocab_size": config["vocab_size"],
        "context_length": config["n_positions"],
        "d_model": config["n_embd"],
        "n_heads": config["n_head"],
        "n_layers": config["n_layer"],
    }
    if (config.get("n_inner") or 4 * ours["d_model"]) != 4 * ours["d_model"]:
        raise ValueError(f"n_inner={config['n_inner']}, expected 4 n_embd = {4 * ours['d_model']}")
    renamed = {}
    for name, tensor in weights.items():
        name = name.removeprefix("transformer.")
        if name.endswith((".attn.bias", ".attn.masked_bias")) or name == "lm_head.weight":
            continue  # the causal mask, in old files; and the tied head, which is wte
        # Hugging Face keeps the blocks' matrices as (in, out), a linear layer as (out, in).
        transposed = name.startswith("h.") and tensor.dim() == 2
        renamed[name] = tensor.T.contiguous() if transposed else tensor
    return ours, renamed


def save_as_gpt2(folder: str | Path, model: nn.Module) -> None:
    """Write a GPT in Hugging Face's format, for `transformers` or anybody's GPT-2 to read.

    Raises ValueError for an option that GPT-2 has not.
    """
    config = asdict(model.config)
    sizes = {"vocab_size": "vocab_size", "context_length": "n_positions", "d_model": "n_embd"}
    sizes |= {"n_heads": "n_head", "n_layers": "n_layer"}
    free = {*sizes, "dropout", "zero_init", "explicit_attention"}  # how it began and is computed
    for field in fields(model.config):
        name, value = field.name, config[field.name]
        plain = name == "n_kv_heads" and value == config["n_heads"]  # nothing is shared
        if name not in free and value != field.default and not plain:
            raise ValueError(f"{name}={value!r}, expected {field.default!r}: GPT-2's architecture")
    theirs = {"architectures": ["GPT2LMHeadModel"], **GPT2}
    theirs |= {name: config[ours] for ours, name in sizes.items()}
    theirs |= dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), config["dropout"])
    theirs |= {"bos_token_id": None, "eos_token_id": None}  # the tokenizer's affair
    weights = {}
    for name, p in model.named_parameters():
        turned = name.startswith("h.") and p.dim() == 2  # (out, in) -> (in, out)
        weights[name] = (p.T if turned else p).detach().contiguous()
    _write(folder, theirs, weights, format="pt")


def refuse_other_shapes(own: dict[str, Tensor], given: dict[str, Tensor], source) -> None:
    """Raise ValueError if names or shapes of what `source` gave are not a model's `own`."""
    shapes, expected = ({k: tuple(t.shape) for k, t in d.items()} for d in (given, own))
    if shapes != expected:
        name = min(k for k in shapes | expected if shapes.get(k) != expected.get(k))
        raise ValueError(
            f"{source} is of another model: {name} is {shapes.get(name, 'missing')} in it, "
            f"expected {expected.get(name, 'no such tensor')}"
        )


def load_tensors(own: dict[str, Tensor], given: dict[str, Tensor], source: str | Path) -> None:
    """Copy what was `given` by `source` into a model's `own` tensors of the same names.

    Raises ValueError, and changes nothing, if names or shapes differ.
    """
    refuse_other_shapes(own, given, source)
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(given[name])
