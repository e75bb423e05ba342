"""From a finished run to the model that travels with the package -> scratchformer/shipped/NAME.

Usage: python lab/ship.py NAME [--run FOLDER] [--development FOLDER] [--write]

    scratchformer train --config lab/configs/NAME.toml
    scratchformer train --config lab/configs/NAME.toml --out runs/NAME-development
        --set data.split=development
    python lab/ship.py NAME --write

The first command trains on nine tenths of the text; its validation loss is read once, after the
last step. The second, which may be left out, trains in the same way on the first nine tenths of
those, and its loss is the one to choose settings by. The script rounds the weights to float16 and
scores them again on the whole validation split, beside counted n-grams trained on the same text.
It writes model.safetensors, tokenizer.json and record.json, with `--write` only.
"""

import argparse
import json
import platform
import shutil
import subprocess
import time
from pathlib import Path

import torch
from table import machine  # beside this file

from scratchformer.cli import read_config
from scratchformer.data import load_corpus, scored_split
from scratchformer.files import atomic_write
from scratchformer.models import GPT, KneserNey
from scratchformer.models.pretrained import save_model
from scratchformer.shipped import FOLDER
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate

ROOT = Path(__file__).resolve().parents[1]
ORDERS = range(1, 9)  # of the counted n-grams


def scores(model: GPT, tok: CharTokenizer, text: str) -> dict:
    """Nats a character on the whole validation split: as trained, as float16, and counted."""
    training, validation = scored_split(torch.tensor(tok.encode(text)), "validation")
    as_trained = evaluate(model, validation, model.context_length)
    rounded = evaluate(round_to_half(model), validation, model.context_length)
    counted = {
        n: KneserNey(n).fit(training, tok.vocab_size).nats_per_token(validation) for n in ORDERS
    }
    return {
        "validation": round(as_trained, 4),
        "validation_float16": round(rounded, 4),
        "counted": {str(n): round(loss, 4) for n, loss in counted.items()},
    }


def round_to_half(model: GPT) -> GPT:
    """The model with each weight rounded to float16, and float32 again; in place."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.half())
    return model


def described(run: Path) -> dict:
    """What the folder of a run says of its settings, its seconds and its last losses."""
    history = json.loads((run / "history.json").read_text(encoding="utf-8"))
    settings = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return {
        "settings": {key: settings[key] for key in ("data", "model", "training")},
        "steps": history["steps"][-1],
        "seconds": round(history["seconds"][-1]),
        "training_loss": round(history["train_loss"][-1], 4),
        "scored_loss": round(history["val_loss"][-1], 4),
    }


def commit() -> str:
    """The commit that this file stands in, or "unknown"."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    found = subprocess.run(words, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def write(name: str, run: Path, model: GPT, record: dict) -> None:
    """Model, tokenizer and record, into the package."""
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    save_model(folder, model.half())
    shutil.copyfile(run / "tokenizer.json", folder / "tokenizer.json")
    with atomic_write(folder / "record.json") as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="a configuration in configs/")
    parser.add_argument("--run", type=Path, help="runs/NAME")
    parser.add_argument("--development", type=Path, help="runs/NAME-development")
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    options = parser.parse_args(arguments)
    run = options.run or ROOT / "runs" / options.name
    development = options.development or ROOT / "runs" / f"{options.name}-development"
    config = read_config(ROOT / "lab" / "configs" / f"{options.name}.toml")
    corpus = load_corpus(config["data"]["corpus"])
    if options.write and not corpus.is_real:
        raise SystemExit(f"{config['data']['corpus']} is not here: nothing is replaced")
    model, tok = GPT.from_pretrained(run), CharTokenizer.load(run / "tokenizer.json")
    record = {
        "command": f"scratchformer train --config lab/configs/{options.name}.toml",
        "parameters": sum(p.numel() for p in model.parameters()),
        **described(run),
        "losses": scores(model, tok, corpus.text),
        "commit": commit(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "hardware": {key: machine()[key] for key in ("processor", "cores")},
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    if development.is_dir():
        tried = described(development)
        record["development"] = {"steps": tried["steps"], "loss": tried["scored_loss"]}
    if options.write:
        write(options.name, run, model, record)
    print(json.dumps(record["losses"], indent=1))
    return record


if __name__ == "__main__":
    main()
