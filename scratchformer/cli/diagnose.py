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
    config = Path(source) / "config.json"
    if config.is_file() and "model_type" not in json.loads(config.read_text(encoding="utf-8")):
        return GPT.from_pretrained(source), {}  # as `scratchformer train` writes it
    try:
        from transformers import AutoModelForCausalLM
    except ImportError:
        raise ImportError(f"{source} is read by transformers: pip install transformers") from None
    model = AutoModelForCausalLM.from_pretrained(source)
    calls = {"cache": cache_of_transformers(model), "padding": padding_of_transformers(model)}
    return model, calls
