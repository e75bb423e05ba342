"""From a finished run to the model that travels with the package -> scratchformer/shipped/NAME.

Usage: python -m lab.ship NAME [--write]

    scratchformer train --config lab/configs/NAME.toml
    scratchformer train --config lab/configs/NAME.toml --out runs/NAME-development
        --set data.split=development
    python -m lab.ship NAME --write

The first command trains on nine tenths of the text; its validation loss is read once, after the
last step. The second, which may be left out, trains in the same way on the first nine tenths of
those, and its loss is the one to choose settings by. The script rounds the weights to float16 and
scores them again on the whole validation split, beside counted n-grams trained on the same text.
It writes model.safetensors, tokenizer.json and record.json, with `--write` only.
"""

import json
import shutil
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from lab import runs
from scratchformer.cli import read_config
from scratchformer.data import scored_split
from scratchformer.models import GPT
from scratchformer.models.pretrained import save_model
from scratchformer.shipped import FOLDER
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate

Model = TypeVar("Model", bound=nn.Module)
RUNS = runs.ROOT / "runs"  # where the two commands leave what they have trained
ORDERS = range(1, 9)  # of the counted n-grams


def scores(model: GPT, tok: CharTokenizer, text: str) -> dict:
    """Nats a character on the whole validation split: as trained, as float16, and counted."""
    training, validation = scored_split(torch.tensor(tok.encode(text)), "validation")
    as_trained = evaluate(model, validation, model.context_length)
    rounded = evaluate(round_to_half(model), validation, model.context_length)
    return {
        "validation": round(as_trained, 4),
        "validation_float16": round(rounded, 4),
        "counted": runs.counted_losses(training, validation, tok.vocab_size, ORDERS),
    }


def round_to_half(model: Model) -> Model:
    """The model with each weight rounded to float16, and float32 again; in place."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.half())
    return model


def described(run: Path) -> dict:
    """What the folder of a run says of its settings, its seconds and its last losses."""
    history, settings = runs.read(run / "history.json"), runs.read(run / "run.json")
    return {
        "settings": {key: settings[key] for key in ("data", "model", "training")},
        "steps": history["steps"][-1],
        "seconds": round(history["seconds"][-1]),
        "training_loss": round(history["train_loss"][-1], 4),
        "scored_loss": round(history["val_loss"][-1], 4),
    }


def write(name: str, run: Path, model: GPT, record: dict) -> None:
    """Model, tokenizer and record, into the package."""
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    save_model(folder, model.half())
    shutil.copyfile(run / "tokenizer.json", folder / "tokenizer.json")
    runs.store(folder / "record.json", record)


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, "the shipped model", quick=False)
    parser.add_argument("name", help="a configuration in configs/")
    options = parser.parse_args(arguments)
    name, run, tried = options.name, RUNS / options.name, RUNS / f"{options.name}-development"
    config = read_config(runs.CONFIGS / f"{name}.toml")
    text = runs.load_text(config["data"]["corpus"], write=options.write)
    model, tok = GPT.from_pretrained(run), CharTokenizer.load(run / "tokenizer.json")
    record = {
        "command": f"scratchformer train --config lab/configs/{name}.toml",
        "parameters": runs.size(model),
        **described(run),
        "losses": scores(model, tok, text),
        **runs.stamp(),
    }
    if tried.is_dir():
        last = described(tried)
        record["development"] = {"steps": last["steps"], "loss": last["scored_loss"]}
    if options.write:
        write(name, run, model, record)
    print(json.dumps(record["losses"], indent=1))
    return record


if __name__ == "__main__":
    main()
