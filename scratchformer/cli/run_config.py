"""A run's configuration: the tables of a TOML file, checked against the dataclasses they become.

Which values make sense together is for these classes to say, when they are made.
"""

import importlib
import inspect
import sys
import types
import typing
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class DataConfig:
    """[data]: either a corpus and its tokenizer, or a folder that `prepare` wrote."""

    corpus: str | None = None
    tokenizer: str | None = None  # "char" by default
    split: str | None = None  # what of a corpus is scored: see `scored_split`; "validation"
    folder: str | None = None

    def __post_init__(self) -> None:
        of_corpus = self.tokenizer or self.split
        if (self.corpus is None) == (self.folder is None) or (self.folder and of_corpus):
            raise ValueError("[data] needs either corpus, tokenizer and split, or folder alone")


@dataclass(frozen=True)
class RunConfig:
    """What [training] says beside TrainingConfig's fields: the batches, and where to compute.

    The options of the sampler stand there too.
    """

    batch_size: int  # windows, of all processes together
    context_length: int | None = None  # of the windows; None: the model's
    device: str = "auto"
    sampler: str | None = None  # "MODULE:CLASS", in place of WindowSampler


def read_config(path: str | Path, changes: Sequence[str] = ()) -> dict[str, dict]:
    """The tables data, model and training of a TOML file, with `changes`: "training.lr=1e-3", ….

    Raises ValueError for a wrong key or type, or where one is missing.
    """
    try:
        config = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))  # with a BOM or without
    except ValueError as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    for change in changes:
        table, key, value = _parse_change(change)
        if isinstance(config.setdefault(table, {}), dict):
            config[table][key] = value
    schema = _tables(config)
    source = f"{path} with --set {' --set '.join(changes)}" if changes else str(path)
    for table in dict.fromkeys([*config, *schema]):
        if table not in schema or not isinstance(config.get(table), dict):
            state = "missing" if table in schema else "unknown"
            raise ValueError(f"{source}: [{table}] is {state}, expected tables {', '.join(schema)}")
        config[table] = check_table(f"{source}: [{table}]", config[table], schema[table])
    return config


def _parse_change(change: str) -> tuple[str, str, object]:
    name, equals, text = change.partition("=")
    table, dot, key = name.strip().partition(".")
    if not (equals and dot and table and key):
        raise ValueError(f"--set {change}: expected TABLE.KEY=VALUE, for example training.lr=1e-3")
    try:
        return table, key, tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return table, key, text.strip()  # a word needs no quotes


def _tables(config: dict) -> dict[str, dict[str, tuple[typing.Any, bool]]]:
    """Table -> key -> (type, whether it is needed), as the dataclasses have them."""
    from scratchformer.training import TrainingConfig

    tables = {name: t if isinstance(t, dict) else {} for name, t in config.items()}
    model_class = model_classes(tables.get("model", {}).get("type", "gpt"))[1]
    model_keys = {"type": (str, False), **keys_of(model_class)}
    del model_keys["vocab_size"]  # the tokenizer's
    sampler = sampler_class(tables.get("training", {}).get("sampler"))
    training_keys = keys_of(TrainingConfig) | keys_of(RunConfig) | options_of(sampler)
    return {"data": keys_of(DataConfig), "model": model_keys, "training": training_keys}


def model_classes(name: Any) -> tuple[Any, Any]:
    """The class of a model and that of its config, for a `type`: "gpt" or "MODULE:CLASS".

    A class elsewhere is built as `GPT` is, from one argument, `config`, that is annotated with its
    dataclass. Raises ValueError if there is no such module or class.
    """
    from scratchformer.models import GPT, GPTConfig

    if name == "gpt":
        return GPT, GPTConfig
    model_class = _class_at(name, f"[model] has type = {name!r}, expected 'gpt' or 'MODULE:CLASS'")
    return model_class, typing.get_type_hints(model_class.__init__)["config"]


def sampler_class(name: Any) -> Any:
    """The sampler of a configuration: WindowSampler, or one made as it is, at "MODULE:CLASS"."""
    from scratchformer.data.batches import WindowSampler

    if name is None:
        return WindowSampler
    return _class_at(name, f"[training] has sampler = {name!r}, expected 'MODULE:CLASS'")


def _class_at(address: Any, problem: str) -> Any:
    module, _, name = address.partition(":") if isinstance(address, str) else ("", "", "")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{problem} ({error})") from error


def options_of(sampler: Any) -> dict[str, tuple[typing.Any, bool]]:
    """Like `keys_of`: those arguments of a sampler that have a default."""
    hints = typing.get_type_hints(sampler.__init__)
    arguments = inspect.signature(sampler.__init__).parameters.values()
    return {a.name: (hints[a.name], False) for a in arguments if a.default is not a.empty}


def keys_of(config_class: type) -> dict[str, tuple[typing.Any, bool]]:
    """Field -> (its type, whether it is needed) of a dataclass."""
    hints = typing.get_type_hints(config_class)
    return {f.name: (hints[f.name], f.default is MISSING) for f in fields(config_class)}


def check_table(where: str, table: dict, schema: dict[str, tuple[typing.Any, bool]]) -> dict:
    """The table with its values in the types of the fields."""
    values = {}
    for key, value in table.items():
        if key not in schema:
            raise ValueError(f"{where} has no key {key!r}, expected some of {', '.join(schema)}")
        values[key] = _convert(f"{where} has {key} = {value!r}", value, schema[key][0])
    for key, (_, needed) in schema.items():
        if needed and key not in table:
            raise ValueError(f"{where} has no {key}, which is needed")
    return values


def _convert(what: str, value: object, hint: typing.Any) -> object:
    """`value`, as TOML has it, in the type of a field; ValueError if it is of another."""
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    # of X | None it is X: without a value the key is left out
    expected_type = next(t for t in members if t is not type(None))
    if typing.get_origin(expected_type) is tuple:
        element_types = typing.get_args(expected_type)
        if type(value) is list and len(value) == len(element_types):
            return tuple(_convert(what, x, t) for x, t in zip(value, element_types, strict=True))
        raise ValueError(f"{what}, expected [{', '.join('ab'[: len(element_types)])}]")
    if expected_type is float and type(value) is int:
        return float(value)
    if type(value) is not expected_type:
        raise ValueError(f"{what}, expected {expected_type.__name__}")
    return value
