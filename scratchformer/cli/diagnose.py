"""`scratchformer diagnose`: the tests of a model that lies in a folder, on a hub or in a module."""

import argparse
import contextlib
import importlib
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scratchformer.diagnosis import diagnose as diagnose_model
from scratchformer.diagnosis.transformers_calls import (
    cache_of_transformers,
    padding_of_transformers,
)
from scratchformer.files import read_json
from scratchformer.models import GPT


def diagnose(options: argparse.Namespace) -> int:
    """Print a report, as text or JSON. Returns 1 if a test failed, 0 otherwise."""
    with contextlib.redirect_stdout(sys.stderr):  # what a model says while it is made
        model, arguments = _model_at(options.source)
        report = diagnose_model(model, **arguments)
    if options.json:
        result = {"source": options.source, "healthy": report.healthy, "faults": report.faults}
        findings = [asdict(finding) for finding in report.findings]
        print(json.dumps(result | {"findings": findings}, indent=1, ensure_ascii=False))
    else:
        print(report)
    return 0 if report.healthy else 1


def _model_at(source: str) -> tuple[Any, dict]:
    """A model, and what `diagnose` is told of it."""
    if re.fullmatch(r"[\w.]+:\w+", source) and not Path(source).exists():
        module, name = source.split(":")
        sys.path.insert(0, "")  # modules of this folder, as `python -m` finds them
        function = getattr(importlib.import_module(module), name, None)
        if not callable(function):
            raise ValueError(f"{module} has no function {name}")
        result = function()
        return result if isinstance(result, tuple) else (result, {})
    if Path(source).is_dir() and not _is_of_transformers(Path(source)):
        return GPT.from_pretrained(source), {}  # as `scratchformer train` writes it
    try:
        from transformers import AutoModelForCausalLM
    except ImportError:
        raise ImportError(f"{source} is read by transformers: pip install transformers") from None
    try:
        model = AutoModelForCausalLM.from_pretrained(source)
    except Exception as error:  # a damaged file's, the hub's, the network's: many kinds
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"transformers cannot read {source}: {reason:.400}") from error
    calls = {"cache": cache_of_transformers(model), "padding": padding_of_transformers(model)}
    return model, calls


def _is_of_transformers(folder: Path) -> bool:
    """Whether the config.json of a folder names a kind of model, as transformers writes it."""
    try:
        return "model_type" in read_json(folder / "config.json")
    except (OSError, ValueError):  # our reader says what is wrong
        return False
