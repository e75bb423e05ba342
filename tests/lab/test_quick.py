"""A script that measures runs from end to end, and gives what its stored file has."""

import importlib

import pytest

from lab import runs
from scratchformer_course.measurements import FOLDER

SCRIPTS = "bert_pretraining block_parts bottleneck climb inside object_first page_bits settings"
SCRIPTS += " taken_apart widths goes_wrong fixed_memory thinking to_gpt"
ORIGIN = {"settings", "parts", "seconds", "cpu_seconds", *runs.stamp()}


def names(result):
    """What a result holds, and what is in that, but for seeds, rates and the like."""
    keys = {key for key in result if not str(key)[:1].isdigit()} - ORIGIN
    inner = [names(result[key]) for key in keys if isinstance(result[key], dict)]
    return keys.union(*inner)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS.split())
def test_a_script_runs_from_end_to_end(name, short_text):
    result = importlib.import_module(f"lab.{name}").main(["--quick"])
    assert names(runs.read(FOLDER / f"{name}.json")) <= names(runs.as_json(result))
