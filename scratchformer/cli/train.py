"""`scratchformer train`: one run, from a configuration to a model, by one process or several."""

import argparse
import contextlib
import functools
import hashlib
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from scratchformer.cli.run_config import (
    DataConfig,
    RunConfig,
    model_classes,
    options_of,
    read_config,
    sampler_class,
)
from scratchformer.cli.run_folder import RunFolder, best_of, lock_folder
from scratchformer.cli.tokenizer_names import tokenizer_of
from scratchformer.data import load_corpus, scored_split
from scratchformer.data.token_files import fingerprint, read_header, read_tokens
from scratchformer.training import History, TrainingConfig, TrainingState, distributed, train_on
from scratchformer.training.devices import difference_from_cpu, name_of
from scratchformer.training.resuming import settings_of


def train(options: argparse.Namespace) -> None:
    """Train as the configuration says, and say how to go on when the run is stopped."""
    config = read_config(options.config, options.set)
    out = options.out or Path("runs", options.config.stem)
    try:
        with distributed.process_group(config["training"].get("device", "auto")) as device:
            resume = distributed.any_process(options.resume or distributed.was_restarted())
            _run(config, out, device, resume)
    except KeyboardInterrupt as stop:
        what = f"{stop.args[0]} and saved" if stop.args else "stopped before it was saved"
        changes = [word for change in options.set for word in ("--set", change)]
        words = ["--config", str(options.config), "--out", str(out), *changes, "--resume"]
        several = "torchrun … -m " if "WORLD_SIZE" in os.environ else ""
        command = f"{several}scratchformer train {shlex.join(words)}"
        raise KeyboardInterrupt(f"{what}. Go on with\n  {command}") from None
    except ConnectionError as error:
        raise ConnectionError(f"{error}; --resume goes on from the last checkpoint") from error


def _run(config: dict[str, dict], out: Path, device: torch.device, resume: bool) -> None:
    data = _read_data(DataConfig(**config["data"]))
    training = TrainingConfig(**_entries_of(TrainingConfig, config))
    windows = RunConfig(**_entries_of(RunConfig, config))
    torch.manual_seed(training.seed)
    sizes = dict(config["model"])
    model_class, config_class = model_classes(sizes.pop("type", "gpt"))
    model = model_class(config_class(vocab_size=data.tokenizer.vocab_size, **sizes))
    n_parameters = sum(p.numel() for p in model.parameters())
    T = model.context_length if windows.context_length is None else windows.context_length
    sampler, table = sampler_class(windows.sampler), config["training"]
    sampling = {name: table[name] for name in options_of(sampler) if name in table}
    # Refuses sizes that make no batch, before anything is written.
    batches = sampler(data.train_ids, windows.batch_size, T, training.seed, **sampling)
    if model.context_length < batches.context_length:
        raise ValueError(
            f"[training] has windows of {batches.context_length}, expected at most the model's "
            f"context_length, {model.context_length}"
        )
    device = _checked(device, model, data.train_ids, T)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32, where bfloat16 is not asked for
    with lock_folder(out):
        tokens = [len(data.train_ids), len(data.val_ids)]
        identity = {"batch_size": windows.batch_size, "context_length": T, **sampling}
        identity |= {"tokens": tokens, "sampler": windows.sampler, **data.sums}
        identity |= {"type": config["model"].get("type", "gpt")}
        folder = RunFolder(out, {**config, "sums": data.sums}, data.tokenizer)
        header = folder.check(settings_of(training, model, identity), resume)
        distributed.barrier()  # all have looked before one writes
        model.to(device)
        if distributed.rank() == 0:
            if header:
                folder.save_best_of(header, model)
            n = distributed.world_size()
            several = f" × {n} processes" if n > 1 else ""
            ids = f"{len(data.train_ids):,} ids to train on"
            print(f"{out}: {n_parameters:,} parameters on {name_of(device)}{several}, {ids}")
        arguments = batches, model, data.val_ids, training, windows.batch_size, identity
        learn = functools.partial(train_on, *arguments)
        _train(learn, model, folder, training.steps, header.get("step", 0))


def _train(
    learn: Callable[..., History], model: Any, folder: RunFolder, steps: int, first: int
) -> None:
    """Train, save the best and the last model, and show what is going on."""
    speaks = distributed.rank() == 0
    with tqdm(total=steps, initial=first, unit="step", desc="train", disable=not speaks) as bar:

        def after_step(state: TrainingState) -> None:
            with contextlib.suppress(OSError):  # who watched has gone: the run goes on
                bar.update()
            if not state.evaluated:
                return
            history = state.history
            if best_of(history) == len(history.steps) - 1:
                folder.save(model, folder.path / "best")
            if speaks:
                folder.write(history)
                losses = f"training {history.train_loss[-1]:.4f}"
                losses += f", validation {history.val_loss[-1]:.4f} nats per token"
                with contextlib.suppress(OSError):
                    bar.write(f"step {state.step:,} of {steps:,}: {losses}")

        history = learn(callbacks=[after_step], checkpoint=folder.checkpoint, resume=first > 0)
    folder.save(model, folder.path)
    if speaks:
        folder.write(history)
        step, loss = history.steps[best_of(history)], history.val_loss[best_of(history)]
        files = "model.safetensors, config.json, tokenizer.json, history.json and loss.png"
        print(f"{folder.path}: {files}")
        best = folder.path / "best"
        print(f"{best}: the model of step {step:,}, best on validation with {loss:.4f}")


def _checked(device: torch.device, model: Any, ids: Tensor, context_length: int) -> torch.device:
    """The device if it computes as the CPU does, and else the CPU, with a sentence.

    Of several processes none can go on elsewhere than the others: ValueError.
    """
    if device.type == "cpu":
        return device
    difference = difference_from_cpu(model, ids, context_length, device)
    if not distributed.any_process(difference is not None):
        return device
    warning = (
        f"{name_of(device)} does not compute as the CPU does: {difference or 'see another process'}"
    )
    if distributed.world_size() > 1:
        raise ValueError(f"{warning}. Expected a device that does, such as cpu")
    print(f"{warning}. Training on the CPU")
    return torch.device("cpu")


def _entries_of(config_class: type, config: dict[str, dict]) -> dict:
    """The entries of [training] that are fields of a class."""
    names = {field.name for field in fields(config_class)}
    return {key: value for key, value in config["training"].items() if key in names}


@dataclass(frozen=True)
class Data:
    """What a run reads."""

    train_ids: Tensor
    val_ids: Tensor
    tokenizer: Any  # one of the package's
    sums: dict[str, str]  # which tell this text and tokenizer from others


def _read_data(config: DataConfig) -> Data:
    """Ids and tokenizer of a corpus, or of a folder that `prepare` wrote."""
    if config.corpus is not None:
        text = load_corpus(config.corpus).text
        tokenizer = tokenizer_of(config.tokenizer or "char", [text])
        ids = torch.tensor(tokenizer.encode(text))
        train_ids, val_ids = scored_split(ids, config.split or "validation")
        sums = {"text": hashlib.sha256(text.encode()).hexdigest()}
        sums["tokenizer"] = fingerprint(tokenizer)
        return Data(train_ids, val_ids, tokenizer, sums)
    folder = Path(config.folder or "")
    paths = [folder / name for name in ("train.bin", "val.bin")]
    if missing := [path for path in paths if not path.is_file()]:
        raise ValueError(
            f"{missing[0]} is missing: `scratchformer prepare` writes it, unless --validation is 0"
        )
    tokenizer = tokenizer_of(str(folder / "tokenizer.json"))
    headers = [read_header(path) for path in paths]
    sums, others = ({name: h[name] for name in ("text", "tokenizer")} for h in headers)
    if sums != others:
        raise ValueError(f"{paths[0]} and {paths[1]} are not of one text: prepare them again")
    train_ids, val_ids = (read_tokens(path, tokenizer) for path in paths)
    for path, ids in zip(paths, (train_ids, val_ids), strict=True):
        if (largest := int(ids.numpy().max())) >= tokenizer.vocab_size:
            raise ValueError(f"{path} is damaged: it holds the id {largest}, which no token has")
    return Data(train_ids, val_ids, tokenizer, sums)
