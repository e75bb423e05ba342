"""`scratchformer prepare` makes token files of texts, `scratchformer train` a model of a TOML file.

Both show a progress bar, may be stopped at any time, and go on with --resume. What they do is in
the rooms data and training; torch is imported only once there is something to do.
"""

import argparse
import hashlib
import inspect
import json
import math
import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAY_CHANGE = {"checkpoint_every", "parallel", "compile"}  # in a run that goes on


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns its exit status: 0, 1 after an error, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser("scratchformer", description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("prepare", help="write texts as token files, to train on")
    command.set_defaults(run=_prepare)
    add = command.add_argument
    add("inputs", nargs="*", metavar="INPUT", help="a UTF-8 text, a folder of them, - for stdin")
    add("--dataset", metavar="NAME", help="a Hugging Face dataset, or a folder with its files")
    add("--subset", help="of the dataset, where it has several")
    add("--split", default="train", help="of the dataset (default: train)")
    add("--column", default="text", help="of the dataset (default: text)")
    add("--tokenizer", required=True, metavar="NAME", help="gpt2, char, or a saved FILE.json")
    add("--validation", type=float, default=0.1, help="share of the ids, the last (default: 0.1)")
    add("--out", required=True, type=Path, metavar="FOLDER", help="for train.bin and val.bin")
    add("--overwrite", action="store_true", help="replace the token files in FOLDER")
    command = commands.add_parser("train", help="train the model that a configuration describes")
    command.set_defaults(run=_train)
    add = command.add_argument
    add("--config", required=True, type=Path, metavar="FILE.toml", help="see configs/")
    add("--out", type=Path, metavar="FOLDER", help="for the run (default: runs/NAME-OF-FILE)")
    for command in commands.choices.values():
        command.add_argument("--resume", action="store_true", help="go on where a run was stopped")
    options = parser.parse_args(arguments)
    rank = int(os.environ.get("RANK", "0"))  # torchrun's: only the first process tells all
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda w, *_: None if rank else print(w, file=sys.stderr)
            options.run(options)
        return 0
    except KeyboardInterrupt as stop:
        if not rank:
            print(f"\n{stop.args[0] if stop.args else 'stopped'}", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError) as error:
        who = f"scratchformer (process {rank})" if rank else "scratchformer"
        print(f"{who}: {error}", file=sys.stderr)
        return 1


def _prepare(options: argparse.Namespace) -> None:
    from scratchformer.data.hugging_face import dataset_rows
    from scratchformer.data.token_files import read_header, text_pieces, write_tokens

    if bool(options.dataset) == bool(options.inputs):
        raise ValueError("expected either texts or --dataset")
    files = [file for name in options.inputs for file in _files(name)]
    once = "-" in files  # a pipe has no size, and cannot be read twice

    def documents() -> Iterator[Iterable[str]]:
        yield from map(text_pieces, files)
        if options.dataset:
            for row in dataset_rows(options.dataset, options.split, options.subset):
                if not isinstance(row.get(options.column), str):
                    raise ValueError(f"no text in column {options.column!r} of {', '.join(row)}")
                yield [row[options.column]]

    if once and options.tokenizer == "char":
        raise ValueError("char reads the text twice, which stdin does not allow: save it first")
    characters = (piece for document in documents() for piece in document)
    tokenizer = _tokenizer(options.tokenizer, characters)
    size = None if once or options.dataset else sum(Path(file).stat().st_size for file in files)
    try:
        with tqdm(total=size, unit="B", unit_scale=True, desc="prepare") as bar:
            write_tokens(
                options.out,
                documents(),
                tokenizer,
                validation=options.validation,
                source=options.dataset or " ".join(options.inputs),
                resume=options.resume,
                overwrite=options.overwrite,
                on_bytes=bar.update,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped: the same command with --resume goes on") from None
    for path in filter(Path.exists, (options.out / "train.bin", options.out / "val.bin")):
        print(f"{path}: {read_header(path)['tokens']:,} tokens")


def _files(name: str) -> list[str]:
    """The file itself, or all files in a folder in a fixed order, hidden ones left out."""
    if name == "-" or not Path(name).is_dir():
        return [name]
    inside = (p.relative_to(name) for p in sorted(Path(name).rglob("*")) if p.is_file())
    return [str(Path(name, p)) for p in inside if not any(q[0] == "." for q in p.parts)]


def _tokenizer(name: str, texts: Iterable[str]):
    """GPT-2's, one of the characters in `texts`, or a saved one of any kind."""
    from scratchformer import tokenizers

    if name == "gpt2":
        return tokenizers.ByteBPE.from_tiktoken("gpt2")
    if name == "char":
        characters = set()
        for text in texts:  # one after the other: together they may exceed the memory
            characters.update(text)
        return tokenizers.CharTokenizer("".join(sorted(characters)))
    if not Path(name).is_file():
        raise ValueError(f"no tokenizer {name!r}, expected gpt2, char or a saved file")
    try:
        kind = json.loads(Path(name).read_text(encoding="utf-8"))["tokenizer"]
        return getattr(tokenizers, kind).load(name)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{name} is not a saved tokenizer ({error})") from error


def read_config(path: Path) -> dict[str, dict]:
    """The tables of a TOML file; ValueError for a wrong key or type, or where one is missing."""
    try:
        config, known = tomllib.loads(path.read_text(encoding="utf-8")), _known_keys()
    except ValueError as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    for table in [*config, *known]:
        if table not in known or not isinstance(config.get(table), dict):
            wrong = "missing" if table in known else "unknown"
            raise ValueError(f"{path}: [{table}] is {wrong}, expected tables {', '.join(known)}")
        for key, value in config[table].items():
            if key not in known[table]:
                keys = ", ".join(known[table])
                raise ValueError(f"{path}: [{table}] has no key {key!r}, expected some of {keys}")
            kind = known[table][key][0]
            if kind is float and type(value) is int:
                config[table][key] = float(value)
            elif kind is tuple and type(value) is list and [type(x) for x in value] == [float] * 2:
                config[table][key] = tuple(value)
            elif type(value) is not kind:
                name = "[a, b]" if kind is tuple else kind.__name__
                raise ValueError(f"{path}: [{table}] has {key} = {value!r}, expected {name}")
        for key, (_, needed) in known[table].items():
            if needed and key not in config[table]:
                raise ValueError(f"{path}: [{table}] has no {key}, which is needed")
    return config


def _known_keys() -> dict[str, dict[str, tuple[type, bool]]]:
    """Table -> key -> (type, whether it is needed), as the signatures have them."""
    from scratchformer.models import MODEL_TYPES
    from scratchformer.training import fit

    optional = (str, False)
    keys = {
        "data": {"corpus": optional, "folder": optional, "tokenizer": optional},
        "model": {"type": optional},
        "training": {
            "device": optional,
            "parallel": optional,
            "batch_size": (int, True),
            "context_length": (int, False),
            "deal": (bool, False),
        },
    }
    plain = {int: int, float: float, str: str, bool: bool, int | None: int}
    plain |= {float | None: float, tuple[float, float]: tuple}
    models = [("model", config) for _, config in MODEL_TYPES.values()]
    for table, function in (*models, ("training", fit)):
        for name, p in inspect.signature(function).parameters.items():
            if p.annotation in plain and name not in ("vocab_size", "resume"):
                keys[table][name] = plain[p.annotation], p.default is p.empty
    return keys


def _data(data: dict[str, str]):
    """(training ids, validation ids, tokenizer, the sums that tell this data from other data)."""
    import torch

    from scratchformer.data import load_corpus, train_val_split
    from scratchformer.data.token_files import fingerprint, read_header, read_tokens

    if ("corpus" in data) == ("folder" in data) or {"folder", "tokenizer"} <= set(data):
        raise ValueError("[data] needs either corpus, and a tokenizer, or folder alone")
    if "corpus" in data:
        text = load_corpus(data["corpus"]).text
        tokenizer = _tokenizer(data.get("tokenizer", "char"), [text])
        ids = train_val_split(torch.tensor(tokenizer.encode(text)))
        sums = {"text": hashlib.sha256(text.encode()).hexdigest()}
        return *ids, tokenizer, sums | {"tokenizer": fingerprint(tokenizer)}
    paths = [Path(data["folder"], name) for name in ("train.bin", "val.bin")]
    if missing := [path for path in paths if not path.is_file()]:
        raise ValueError(
            f"{missing[0]} is missing: `scratchformer prepare` writes it, unless --validation is 0"
        )
    tokenizer = _tokenizer(str(paths[0].with_name("tokenizer.json")), [])
    headers = [read_header(path) for path in paths]
    sums = [{name: header[name] for name in ("text", "tokenizer")} for header in headers]
    if sums[0] != sums[1]:
        raise ValueError(f"{paths[0]} and {paths[1]} are not of one text: prepare them again")
    return *(read_tokens(path, tokenizer) for path in paths), tokenizer, sums[0]


def _train(options: argparse.Namespace) -> None:
    from scratchformer.training.distributed import connected, restarted

    config = read_config(options.config)
    where = {k: config["training"][k] for k in ("device", "parallel") if k in config["training"]}
    out = options.out or Path("runs", options.config.stem)
    try:
        with connected(**where) as workers:
            resume = workers.any(options.resume or restarted())
            _train_with(workers, config, out, resume)
    except KeyboardInterrupt as stop:
        what = f"{stop.args[0]} and saved" if stop.args else "stopped before it was saved"
        command = shlex.join(["--config", str(options.config), "--out", str(out), "--resume"])
        alone = "WORLD_SIZE" not in os.environ
        start = "scratchformer train" if alone else "torchrun … -m scratchformer.train"
        raise KeyboardInterrupt(f"{what}. Go on with\n  {start} {command}") from None
    except ConnectionError as error:
        raise ConnectionError(f"{error}; --resume goes on from the last checkpoint") from error


def _train_with(workers, config: dict[str, dict], out: Path, resume: bool) -> None:
    import torch

    from scratchformer.files import atomic_write
    from scratchformer.models import MODEL_TYPES
    from scratchformer.training import History, train
    from scratchformer.training.checkpoints import load_weights, read_state

    checkpoint, run, speaks = out / "checkpoint.safetensors", out / "run.json", workers.rank == 0
    with workers.one_first():
        train_ids, val_ids, tokenizer, sums = _data(config["data"])
    state = {"history": {}, "step": 0}
    if checkpoint.exists():
        if not resume:
            raise ValueError(f"{out} holds a run: go on with --resume, or choose another --out")
        _same_run(run, config | {"sums": sums})
        state = read_state(checkpoint)
    model, training = dict(config["model"]), dict(config["training"])
    if (kind := model.pop("type", "gpt")) not in MODEL_TYPES:
        known = ", ".join(MODEL_TYPES)
        raise ValueError(f"[model] has type = {kind!r}, expected one of {known}")
    model_class, model_config = MODEL_TYPES[kind]
    for key in ("device", "parallel"):
        training.pop(key, None)
    if workers.device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32, where bfloat16 is not asked for
    torch.manual_seed(training["seed"])
    model = model_class(model_config(vocab_size=tokenizer.vocab_size, **model))
    size = sum(p.numel() for p in model.parameters())
    if not workers.shards:  # shards go there one block at a time
        model.to(workers.device)
    history, steps = History(**state["history"]), training["steps"]
    if speaks and history.steps and state["step"] == history.steps[_best(history)]:
        load_weights(checkpoint, model)  # the run may have been killed just before it saved them
        model.save(out / "best")
    if speaks:
        with atomic_write(run) as part:
            part.write_text(json.dumps(config | {"sums": sums}, indent=1), encoding="utf-8")
        tokenizer.save(out / "tokenizer.json")
        many = f" × {workers.size} ({workers.parallel})" if workers.size > 1 else ""
        device = f"{workers.device.type}{many}"
        print(f"{out}: {size:,} parameters on {device}, {len(train_ids):,} ids to train on")

    def on_evaluate(step: int, train_loss: float, val_loss: float) -> None:
        history.steps.append(step)
        history.train_loss.append(train_loss)
        history.val_loss.append(val_loss)
        if _best(history) == len(history.steps) - 1:
            _save(workers, model, out / "best")
        if speaks:
            _write_losses(out, history)
            losses = f"training {train_loss:.4f}, validation {val_loss:.4f}"
            bar.write(f"step {step:,} of {steps:,}: {losses} nats per token")

    with tqdm(
        total=steps, initial=state["step"], unit="step", desc="train", disable=not speaks
    ) as bar:
        done = train(
            model,
            train_ids,
            val_ids,
            context_length=training.pop("context_length", model.context_length),
            on_step=lambda step: bar.update(),
            on_evaluate=on_evaluate,
            checkpoint=checkpoint,
            resume=resume,
            workers=workers,
            **training,
        )
    _save(workers, model, out)
    if speaks:
        _write_losses(out, done)
        step, loss = done.steps[_best(done)], done.val_loss[_best(done)]
        print(f"{out}: model.safetensors, config.json, tokenizer.json, history.json and loss.png")
        print(f"{out / 'best'}: the model of step {step:,}, best on validation with {loss:.4f}")


def _best(history) -> int:
    """Which evaluation had the lowest validation loss, the first of equals."""
    losses = history.val_loss
    return min(range(len(losses)), key=lambda i: (math.isnan(losses[i]), losses[i]))


def _save(workers, model, folder: Path) -> None:
    """`model.save` by the first process; a model that is spread is put together for it."""
    import torch

    from scratchformer.models.pretrained import load_tensors

    if workers.shards:
        weights = workers.whole(dict(model.named_parameters()))
        if workers.rank == 0:
            with torch.random.fork_rng(devices=[]):  # what a new model draws is not to be missed
                model = type(model)(model.config)
            load_tensors(dict(model.named_parameters()), weights, folder)
    if workers.rank == 0:
        model.save(folder)


def _same_run(path: Path, settings: dict) -> None:
    """ValueError if a run was begun with other settings or other data than these."""
    before = json.loads(path.read_text(encoding="utf-8"))
    for table, entries in json.loads(json.dumps(settings)).items():
        for key in {**before.get(table, {}), **entries}.keys() - MAY_CHANGE:
            was, now = (d.get(key, "nothing") for d in (before.get(table, {}), entries))
            if was != now:
                raise ValueError(
                    f"{path.parent} holds a run with {table}.{key} = {was!r}, got {now!r}: "
                    "a run goes on with what it began with"
                )


def _write_losses(out: Path, history) -> None:
    """history.json and loss.png, replaced whole, so that one can watch a run."""
    from matplotlib.figure import Figure  # not pyplot: no window, no screen needed

    from scratchformer.files import atomic_write
    from scratchformer.plots import loss_curves

    with atomic_write(out / "history.json") as part:
        part.write_text(json.dumps(asdict(history), indent=1), encoding="utf-8")
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    loss_curves(history, figure.subplots())
    with atomic_write(out / "loss.png") as part:
        figure.savefig(part, format="png", dpi=150)
