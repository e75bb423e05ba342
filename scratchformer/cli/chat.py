"""`scratchformer chat`: talk with a model, which answers as it writes."""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from scratchformer import generation
from scratchformer.cli.tokenizer_names import tokenizer_of
from scratchformer.files import read_json
from scratchformer.generation.conversation import SYSTEM
from scratchformer.models import GPT, Llama
from scratchformer.models.llama_files import CLASSES
from scratchformer.tokenizers import ByteBPE

SETTINGS: dict[str, Callable] = {"temperature": float, "top_k": int, "top_p": float, "seed": int}
SETTINGS |= {"repetition_penalty": float, "max_new_tokens": int}


def chat(options: argparse.Namespace) -> None:
    """Answer each line that is typed or piped; a model without turns goes on with it instead."""
    settings: dict[str, Any] = {"max_new_tokens": 256} | _settings(options.set)
    model, tokenizer = _opened(options.source)
    talks = "<|im_start|>" in getattr(tokenizer, "special_tokens", {})
    turns = [("system", SYSTEM)]
    for message in _lines():
        show = _writer()
        if talks:
            answer = generation.chat(model, tokenizer, message, turns, show=show, **settings)
            turns += [("user", message), ("assistant", answer)]
        elif ids := _ids(tokenizer, message):
            new: list[int] = []

            def until(token: Tensor, new: list[int] = new, show: Callable = show) -> bool:
                new.append(int(token))
                show(tokenizer.decode(new))
                return False

            generation.generate(model, torch.tensor([ids]), **settings, until=until)
        print(flush=True)


def _ids(tokenizer: Any, message: str) -> list[int]:
    """The message's ids; none, and a line that says why, if the tokenizer cannot write it."""
    try:
        return tokenizer.encode(message)
    except ValueError as error:
        print(error, file=sys.stderr)
        return []


def _lines() -> Iterator[str]:
    if not (sys.stdin and sys.stdin.isatty()):  # none: closed by who has called
        yield from (line.rstrip("\n") for line in sys.stdin or ())
        return
    print("Ctrl-D or Ctrl-C ends it.", file=sys.stderr)
    while True:
        try:
            yield input("> ")
        except EOFError:
            return


def _writer() -> Callable[[str], None]:
    """A function that prints what is new in a text that grows."""
    length = 0

    def show(text: str) -> None:
        nonlocal length
        text = text.rstrip("\ufffd")  # the first bytes of a character that is not complete
        print(text[length:], end="", flush=True)
        length = max(length, len(text))

    return show


def _settings(changes: list[str]) -> dict[str, Any]:
    settings = {}
    for change in changes:
        key, _, value = change.partition("=")
        if key not in SETTINGS:
            raise ValueError(f"--set {change}: expected one of {', '.join(SETTINGS)}, =, a number")
        try:
            settings[key] = SETTINGS[key](value)
        except ValueError:
            raise ValueError(f"--set {change}: {value!r} is not a number for {key}") from None
    return settings


def _opened(source: str) -> tuple[Any, Any]:
    """A model and its tokenizer: a folder's, a GGUF file's, or those that are known by a name."""
    path = Path(source)
    if path.suffix == ".gguf":
        return Llama.from_gguf(path), ByteBPE.from_gguf(path)
    if not path.is_dir():
        return Llama.pretrained(source), ByteBPE.pretrained(source)
    if not (path / "tokenizer.json").is_file() or not (path / "config.json").is_file():
        raise ValueError(f"{path} has no config.json and tokenizer.json, expected both")
    config = read_json(path / "config.json")
    model_class = Llama if config.get("model_type") in CLASSES else GPT
    return model_class.from_pretrained(path), tokenizer_of(str(path / "tokenizer.json"))
