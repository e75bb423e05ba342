"""`pytest --nbval notebooks` picks its mode by itself and says which, and why.

With the real corpora at hand every output is compared, unless its cell says otherwise. Without
them the chapters run on their stand-ins, and only cells tagged `nbval-check-output`, which hold
on any corpus, are compared. The same holds for another budget than that of the stored outputs. What a
trained model printed is compared up to its last digits where a cell's tag says so. Cells tagged
`real-model` are left out, and nothing else, where a model that their chapter names is missing.
"""

import os
import sys
from functools import lru_cache
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "tests")]

from last_digits import margin_of, within

from scratchformer_course.kit.chapter_facts import read
from tools.stand_ins import missing, real_model_is_missing

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # two kernels share the cores in peace

TRACER = str(Path(__file__).parent.parent / "tests" / "shapes")
PATH = "__import__('sys').path"
UNREACHED = "[c.text for c in __shapes__.comments if not c.verified]"
os.environ.setdefault("SCRATCHFORMER_BUDGET", "cpu")  # the stored outputs are the CPU's
os.environ.setdefault("SCRATCHFORMER_LIVE", "stored")  # and hold no scripts of live figures


def pytest_configure(config):
    """Turn to nbval's lax mode when something that the stored outputs came from is missing."""
    if not (config.option.nbval or config.option.nbval_lax):
        return
    config.option.nbval_sanitize_with = str(Path(__file__).parent / "sanitize.cfg")
    absent, budget, reasons = missing(), os.environ["SCRATCHFORMER_BUDGET"], []
    if absent:
        os.environ["SCRATCHFORMER_OFFLINE"] = "1"  # so that no kernel waits for the network again
        reasons.append(
            f"{' and '.join(absent)} not found: all cells run on stand-ins (set "
            "SCRATCHFORMER_DATA and TIKTOKEN_CACHE_DIR, or connect once)"
        )
    if budget != "cpu":
        reasons.append(f"the budget is {budget}, that of the stored outputs is cpu")
    if reasons:
        config.option.nbval_lax = True
        tagged = "only cells tagged nbval-check-output are compared"
        config.nbval_mode = f"notebooks: {'; '.join([*reasons, tagged])}"
    else:
        config.nbval_mode = "every output is compared with the stored one, unless tagged otherwise"


def pytest_collection_modifyitems(items):
    """Put the chapters that took longest first."""
    items.sort(key=lambda item: -_seconds(item.path))
    for item in items:
        is_asked = "real-model" in item.cell.metadata.get("tags", [])
        if is_asked and (reason := _why_no_model(item.path)):
            item.add_marker(pytest.mark.skip(reason=reason))


@lru_cache
def _why_no_model(path: Path) -> str:
    return real_model_is_missing(path) if path.suffix == ".ipynb" else ""


@lru_cache
def _seconds(path: Path) -> int:
    return read(path).seconds if path.suffix == ".ipynb" else 0


def pytest_terminal_summary(terminalreporter, config):
    """Name the mode where a reader of the last lines sees it."""
    if mode := getattr(config, "nbval_mode", None):
        terminalreporter.write_line(mode)
        chapters = sorted(Path(__file__).parent.glob("[0-9]*.ipynb"))
        for reason in sorted({*map(_why_no_model, chapters)} - {""}):
            terminalreporter.write_line(f"notebooks: no cell of this model was run: {reason}")


@pytest.hookimpl(trylast=True)  # by then the notebook's kernel is there
def pytest_runtest_setup(item):
    """Have each kernel trace its cells' shape comments: one that is not true fails its cell.

    And have a cell's outputs compared with the margin that its tag gives.
    """
    units = margin_of(item.cell.metadata.get("tags", [])) if hasattr(item, "cell") else None
    if units is not None:
        sanitize = item.sanitize
        item.sanitize = lambda text: within(sanitize(text), units)
    kernel = getattr(item.parent, "kernel", None)
    if kernel is not None and not hasattr(kernel, "traces_shapes"):
        kernel.traces_shapes = True
        load = "__import__('tracer').load_ipython_extension(get_ipython())"
        _quietly(kernel, f"[(p.insert(0, {TRACER!r}), {load}, p.pop(0)) for p in [{PATH}]][0][1]")


@pytest.hookimpl(tryfirst=True)  # the kernel is still there
def pytest_runtest_teardown(item, nextitem):
    """A shape comment that no value has reached fails its notebook, unless a cell already has."""
    done = nextitem is None or nextitem.parent is not item.parent
    if done and hasattr(item.parent, "kernel") and not item.session.testsfailed:
        left = _quietly(item.parent.kernel, UNREACHED)
        assert left == "[]", f"{item.parent.name}: no value has reached the shape comments {left}"


def _quietly(kernel, expression: str) -> str:
    """The repr of a value in the kernel, with no trace in the notebook's outputs or names."""
    reply = kernel.kc.execute(
        "", silent=True, user_expressions={"it": expression}, reply=True, timeout=60
    )
    value = reply["content"]["user_expressions"]["it"]
    assert value["status"] == "ok", value
    return value["data"]["text/plain"]
