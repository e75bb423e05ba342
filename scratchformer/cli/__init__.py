"""`scratchformer prepare` makes token files of texts, `scratchformer train` a model of a TOML file.

Both show a progress bar and may be stopped at any time; `train` goes on with --resume, and
`scratchformer diagnose` tests whether a model is built right. What they do is in the rooms data,
training and diagnosis; torch is imported only once there is something to do.
"""

import argparse
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from scratchformer.cli.run_config import read_config

__all__ = ["main", "read_config"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns 0, 1 after an error or a fault found, or 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not a notebook's
            terminal = stream.isatty()  # which knows its own letters only
            stream.reconfigure(encoding=None if terminal else "utf-8", errors="replace")
    options = _parser().parse_args(arguments)
    rank = int(os.environ.get("RANK", "0"))  # torchrun's: only the first process tells all
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda w, *_: None if rank else print(w, file=sys.stderr)
            return _function(options.command)(options) or 0
    except KeyboardInterrupt as stop:
        if not rank:
            print(f"\n{stop.args[0] if stop.args else 'stopped'}", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        who = f"scratchformer (process {rank})" if rank else "scratchformer"
        print(f"{who}: {error}", file=sys.stderr)
        return 1


def _function(command: str) -> Callable[[argparse.Namespace], int | None]:
    """The function of a command, from the module of its name: only now torch is imported."""
    return getattr(importlib.import_module(f"scratchformer.cli.{command}"), command)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("scratchformer", description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    command = commands.add_parser("prepare", help="write texts as token files, to train on")
    add = command.add_argument
    add("inputs", nargs="*", metavar="INPUT", help="a UTF-8 text, or a folder of them")
    add("--dataset", metavar="NAME", help="a Hugging Face dataset, or a folder with its files")
    add("--subset", help="of the dataset, where it has several")
    add("--column", default="text", help="of the dataset (default: text)")
    add("--tokenizer", required=True, metavar="NAME", help="gpt2, char, or a saved FILE.json")
    add("--validation", type=float, default=0.1, help="share of the ids, the last (default: 0.1)")
    add("--out", required=True, type=Path, metavar="FOLDER", help="for train.bin and val.bin")
    add("--overwrite", action="store_true", help="replace the token files in FOLDER")
    command = commands.add_parser("train", help="train the model that a configuration describes")
    add = command.add_argument
    add("--config", required=True, type=Path, metavar="FILE.toml", help="see lab/configs/")
    add("--out", type=Path, metavar="FOLDER", help="for the run (default: runs/NAME-OF-FILE)")
    add(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="instead of the configuration's value; may be repeated (training.lr=1e-3)",
    )
    add("--resume", action="store_true", help="go on where a run was stopped")
    command = commands.add_parser("diagnose", help="test whether a causal model is built right")
    add = command.add_argument
    source = "a folder or a name of Hugging Face's, or module:function, which returns a model"
    add("source", metavar="SOURCE", help=f"{source}, or it and a dict of diagnose's arguments")
    add("--json", action="store_true", help="print all findings as JSON")
    command = commands.add_parser("chat", help="talk with a model")
    add = command.add_argument
    smol = "smollm2-135m-instruct"
    source = f"a folder with a model and its tokenizer, a GGUF file, or {smol} (default)"
    add("source", nargs="?", default=smol, metavar="SOURCE", help=source)
    what = "of the sampling, as temperature=0.7; may be repeated"
    add("--set", action="append", default=[], metavar="KEY=VALUE", help=what)
    return parser
