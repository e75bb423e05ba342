"""Models on disk: a folder with config.json and model.safetensors, ours or Hugging Face's.

Only GPT-2's layout is translated. What is needed to go on with a training run is in checkpoints.
"""

import hashlib
import json
import os
import warnings
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from scratchformer.files import atomic_write, is_offline, read_json, remove_parts
from scratchformer.models.tensor_files import (
    INDEX,
    read_shards,
    read_tensors,
    shards_of,
    write_tensors,
)

FILES = ("config.json", "model.safetensors")
# What our GPT computes, in Hugging Face's terms; a config that says otherwise is another model.
GPT2 = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "tie_word_embeddings": True,
    "add_cross_attention": False,
}
# Our names of the sizes -> Hugging Face's
SIZES = {
    "vocab_size": "vocab_size",
    "context_length": "n_positions",
    "d_model": "n_embd",
    "n_heads": "n_head",
    "n_layers": "n_layer",
}
# Names that transformers knows these sizes by as well
ALIASES = {"max_position_embeddings": "n_positions", "hidden_size": "n_embd"}
ALIASES |= {"num_attention_heads": "n_head", "num_hidden_layers": "n_layer"}
# The published models: blocks and width
PUBLISHED = {
    "gpt2": (12, 768),
    "gpt2-medium": (24, 1024),
    "gpt2-large": (36, 1280),
    "gpt2-xl": (48, 1600),
}
Model = TypeVar("Model", bound=nn.Module)


def save_model(folder: str | Path, model: Any) -> None:
    """Write the model's config, and its parameters, a shared one once, to `folder`."""
    write_model(folder, asdict(model.config), dict(model.named_parameters()))


def write_model(
    folder: str | Path, config: dict, weights: dict[str, Tensor], **metadata: str
) -> None:
    """Write both files; at any moment `read_model` reads the old model or the new one.

    The config stands in the header of the weights too, so that one rename replaces both.
    config.json follows, for people and for other programs. The header knows the one that was there
    before: after a kill between the two it does not count.
    """
    path = Path(folder) / FILES[0]
    record: dict[str, Any] = {"config": config}
    if path.is_file() and (stale := _digest(path)) != hashlib.sha256(_json(config)).hexdigest():
        record["replaces"] = stale
    write_tensors(Path(folder) / FILES[1], weights, record, **metadata)
    remove_parts(path)
    with atomic_write(path) as part:
        part.write_text(_json(config).decode(), encoding="utf-8")


def _json(config: dict) -> bytes:
    return json.dumps(config, indent=1).encode()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_model(source: str | Path) -> tuple[dict, dict[str, Tensor]]:
    """Config and weights from a folder or, if there is none of this name, Hugging Face's hub.

    A file of weights alone will do if its header holds the config, as those have that a browser
    saves (`tab_trainer/export.js`).
    config.json counts, as for any program, unless it is older than the weights after a save that
    was interrupted; then the config in their header does. Weights may lie in several files, which
    model.safetensors.index.json names. Raises ValueError for files that are damaged or disagree,
    and FileNotFoundError for one that is missing.
    """
    if Path(source).is_file():
        weights, record = read_tensors(source)
        if "config" not in record:
            raise ValueError(f"{source} holds no config: pass the folder with its config.json")
        for name, tensor in weights.items():
            refuse_no_numbers(name, tensor, source)
        return record["config"], weights
    if str(source).endswith(".safetensors") and not Path(source).exists():
        raise FileNotFoundError(f"there is no file {source}")
    if Path(source).is_dir():
        config_path, weights_path = (Path(source) / name for name in FILES)
    else:
        config_path, weights_path = _downloaded(str(source))
    index = weights_path.with_name(INDEX)
    if not (weights_path.is_file() or index.is_file()):
        raise FileNotFoundError(f"{weights_path} is missing, expected a saved model there")
    try:
        single = weights_path.is_file()
        weights, record = read_tensors(weights_path) if single else (read_shards(index), {})
        if not config_path.is_file():
            if "config" in record:
                return record["config"], weights
            raise FileNotFoundError(f"{config_path} is missing, expected a saved model there")
        if "config" in record and record.get("replaces") == _digest(config_path):
            return record["config"], weights
        return read_json(config_path), weights
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{source} is not a complete saved model ({error})") from error


def load_model(
    source: str | Path, model_class: type[Model], config_class: Any, translate: Any = None
) -> Model:
    """A model of `model_class` with config and weights from `source`; GPT's docstring has more.

    `translate` makes ours of Hugging Face's config and weights; GPT-2's are known without.
    """
    config, weights = read_model(source)
    try:
        if translate or "model_type" in config:  # Hugging Face's
            if config.get("quantization_config"):
                raise ValueError("quantization_config is set, expected weights that are numbers")
            if not config.get("is_causal", True):
                raise ValueError("is_causal=False, expected True: no token reads its future")
            config, weights = (translate or from_hugging_face)(config, weights)
        model_config = config_class(**config)
        _refuse_other_sizes(model_config, weights, source)
        model = model_class(model_config)
    except (TypeError, KeyError, AttributeError) as error:
        name = model_class.__name__
        raise ValueError(f"{source} holds no {name}: {error!r} in its config") from error
    load_tensors(dict(model.named_parameters()), weights, source)
    return model.eval()


def without_prefix(weights: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weights under names without `prefix`; ValueError if two become one."""
    renamed = {name.removeprefix(prefix): tensor for name, tensor in weights.items()}
    if len(renamed) < len(weights):
        name = next(
            n for n in weights if n.startswith(prefix) and n.removeprefix(prefix) in weights
        )
        raise ValueError(f"{name} is there twice, with {prefix!r} and without")
    return renamed


def _refuse_other_sizes(config: Any, weights: dict[str, Tensor], source: str | Path) -> None:
    """Raise ValueError for sizes that are not those of the weights, before a model is built."""
    table = "embed_tokens.weight" if "embed_tokens.weight" in weights else "wte.weight"
    expected = {table: (config.vocab_size, config.d_model)}
    if "wpe.weight" in weights:
        expected["wpe.weight"] = (config.context_length, config.d_model)
    for name, shape in expected.items():
        if name not in weights or tuple(weights[name].shape) != shape:
            got = tuple(weights[name].shape) if name in weights else "missing"
            raise ValueError(
                f"{source} is of another model: {name} is {got} in it, expected {shape}"
            )
    blocks = len({name.split(".")[1] for name in weights if name.startswith(("h.", "layers."))})
    if blocks != config.n_layers:
        raise ValueError(
            f"{source} is of another model: {blocks} blocks are in it, expected {config.n_layers}"
        )


def _cached(name: str) -> list[Path] | None:
    """Both files of a model in Hugging Face's cache, None where they are not. No network."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's, in a notebook without ipywidgets
        from huggingface_hub import try_to_load_from_cache

    def cached(file: str) -> Path | None:
        path = try_to_load_from_cache(name, file)
        return Path(path) if isinstance(path, str) else None

    config, weights = (cached(file) for file in FILES)
    if weights is None and (index := cached(INDEX)) and all(map(cached, shards_of(index))):
        weights = index.with_name(FILES[1])  # which is not there: `read_model` finds the index
    return [config, weights] if config and weights else None


def _downloaded(name: str) -> list[Path]:
    """Both files, downloaded unless they are in the cache. Of shards, where one file would be."""
    try:
        if is_offline():  # hf_hub_download would connect even for a file that it has
            if cached := _cached(name):
                return cached
            raise FileNotFoundError("SCRATCHFORMER_OFFLINE forbids downloads")
        from huggingface_hub import hf_hub_download  # only a download needs it
        from huggingface_hub.errors import EntryNotFoundError

        config = Path(hf_hub_download(name, FILES[0]))
        try:
            return [config, Path(hf_hub_download(name, FILES[1]))]
        except EntryNotFoundError:
            index = Path(hf_hub_download(name, INDEX))
            for file in shards_of(index):
                hf_hub_download(name, file)
            return [config, index.with_name(FILES[1])]
    except Exception as error:  # whatever the network does, the reader learns what to do
        raise OSError(
            f"{name!r} is no folder, and Hugging Face's hub did not give it "
            f"({type(error).__name__}: {error}). Connect once, or save {' and '.join(FILES)} in a "
            "folder and pass its path."
        ) from error


def find_gpt2(name: str = "gpt2", download: bool = False) -> Path | None:
    """A folder with GPT-2's published weights, or None where there are none.

    Looks into the folder named by SCRATCHFORMER_GPT2, then into Hugging Face's cache. A model of
    another size in that folder is passed over with a warning. Only with `download` is anything
    fetched: 0.5 GB for "gpt2", 1.5, 3.2 and 6.4 GB for "gpt2-medium", "-large" and "-xl". A
    download that fails ends in a warning. Raises FileNotFoundError if SCRATCHFORMER_GPT2 is set
    and holds no model, and ValueError if its config.json is damaged.
    """
    if named := os.environ.get("SCRATCHFORMER_GPT2"):
        folder = Path(named).expanduser()
        if missing := [file for file in FILES if not (folder / file).is_file()]:
            raise FileNotFoundError(f"SCRATCHFORMER_GPT2 is {named}, where {missing[0]} is missing")
        actual, expected = _blocks_and_width(folder), PUBLISHED.get(name)
        if expected is None or actual == expected:
            return folder
        sizes = f"(blocks, width) {actual}, and {name} has {expected}"
        warnings.warn(f"SCRATCHFORMER_GPT2 is {named}, a model of {sizes}: not used", stacklevel=2)
    if cached := _cached(name):
        return cached[0].parent
    try:
        return _downloaded(name)[0].parent if download else None
    except OSError as error:
        warnings.warn(str(error), stacklevel=2)
        return None


def _blocks_and_width(folder: Path) -> tuple[int | None, int | None]:
    """What config.json says of the size, in Hugging Face's names or in ours."""
    config = read_json(folder / FILES[0])
    blocks = (config[k] for k in ("n_layer", "num_hidden_layers", "n_layers") if k in config)
    widths = (config[k] for k in ("n_embd", "hidden_size", "d_model") if k in config)
    return next(blocks, None), next(widths, None)


def from_hugging_face(config: dict, weights: dict[str, Tensor]) -> tuple[dict, dict[str, Tensor]]:
    """GPT-2's config and weights in our terms: same names, matrices the other way round.

    Raises ValueError for another architecture. Dropout is left out: weights are loaded to be used.
    """
    for key, value in GPT2.items():
        if config.get(key, value) != value:
            raise ValueError(f"{key}={config[key]!r}, expected {value!r}: GPT-2's architecture")
    for other, key in ALIASES.items():
        config = {key: config[other]} | config if other in config else config
        if config.get(other, config.get(key)) != config.get(key):
            raise ValueError(
                f"{other}={config[other]!r} and {key}={config.get(key)!r} are one size"
            )
    ours = {name: config[theirs] for name, theirs in SIZES.items()}
    if (config.get("n_inner") or 4 * ours["d_model"]) != 4 * ours["d_model"]:
        raise ValueError(f"n_inner={config['n_inner']}, expected 4 n_embd = {4 * ours['d_model']}")
    renamed, weights = {}, without_prefix(weights, "transformer.")
    head = weights.pop("lm_head.weight", None)
    if head is not None and "wte.weight" in weights and not same(head, weights["wte.weight"]):
        raise ValueError("lm_head.weight is not wte.weight, expected a tied head: GPT-2's")
    for name, tensor in weights.items():
        if name.endswith((".attn.bias", ".attn.masked_bias")):
            continue  # the causal mask, in old files
        # Hugging Face keeps the blocks' matrices as (in, out), a linear layer as (out, in).
        transposed = name.startswith("h.") and tensor.dim() == 2
        renamed[name] = tensor.T.contiguous() if transposed else tensor
    return ours, renamed


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same numbers, of whatever type."""
    return a.shape == b.shape and bool((a == b).all())


def save_as_gpt2(folder: str | Path, model: Any) -> None:
    """Write a GPT in Hugging Face's format, for `transformers` or anybody's GPT-2 to read.

    Raises ValueError for a setting that GPT-2 does not have.
    """
    config = asdict(model.config)
    for field in fields(model.config):
        value = config[field.name]
        if field.name not in (*SIZES, "dropout") and value != field.default:
            expected = f"expected {field.default!r}: GPT-2's architecture"
            raise ValueError(f"{field.name}={value!r}, {expected}")
    dropout = config.get("dropout", 0.0)
    theirs = {"architectures": ["GPT2LMHeadModel"], **GPT2}
    theirs |= {name: config[ours] for ours, name in SIZES.items()}
    theirs |= dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), dropout)
    theirs |= {"bos_token_id": None, "eos_token_id": None}  # for the tokenizer to say
    weights = {}
    for name, p in model.named_parameters():
        transposed = name.startswith("h.") and p.dim() == 2  # (out, in) -> (in, out)
        weights[name] = p.T if transposed else p
    write_model(folder, theirs, weights, format="pt")


def refuse_other_shapes(ours: dict[str, Tensor], given: dict[str, Tensor], source) -> None:
    """Raise ValueError if names or shapes of what `source` gave are not a model's `own`."""
    shapes, expected = ({k: tuple(t.shape) for k, t in d.items()} for d in (given, ours))
    if shapes != expected:
        name = min(k for k in shapes | expected if shapes.get(k) != expected.get(k))
        raise ValueError(
            f"{source} is of another model: {name} is {shapes.get(name, 'missing')} in it, "
            f"expected {expected.get(name, 'no such tensor')}"
        )


def refuse_no_numbers(name: str, tensor: Tensor, source: str | Path) -> None:
    """Raise ValueError for a tensor that does not hold finite floats of 16 bits or more."""
    fits = tensor.is_floating_point() and tensor.element_size() > 1  # 8 bits need a scale
    if not (fits and tensor.isfinite().all()):
        raise ValueError(f"{source}: {name} ({tensor.dtype}) is not of finite floats only")


def load_tensors(ours: dict[str, Tensor], given: dict[str, Tensor], source: str | Path) -> None:
    """Copy what was `given` by `source` into a model's `own` tensors of the same names.

    Raises ValueError, and changes nothing, if names or shapes differ, or if for a parameter there
    are no finite floats.
    """
    refuse_other_shapes(ours, given, source)
    for name in (n for n, tensor in ours.items() if isinstance(tensor, nn.Parameter)):
        refuse_no_numbers(name, given[name], source)
        refuse_no_numbers(name, given[name].to(ours[name].dtype), source)  # those too large for it
    with torch.no_grad():
        for name, tensor in ours.items():
            tensor.copy_(given[name])
