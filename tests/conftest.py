"""Shared by all tests: shape annotations and shape comments are checked."""

import os
import sys
from pathlib import Path

import hypothesis
import jaxtyping
import pytest
from jaxtyping import install_import_hook

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "shapes"))

import side_by_side
import tracer
from gather import ShapeComments

TRACER = tracer.install(
    install_import_hook(["scratchformer", "scratchformer_course"], "beartype.beartype").hook
)

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# No test is about the milliseconds of one example, which a busy machine multiplies.
hypothesis.settings.register_profile("course", deadline=None)
hypothesis.settings.load_profile("course")


# The files that take longest, and whether a test of theirs may run in either process: such a file
# has no fixtures that are made once.
SLOW = {
    "test_models.py": "split",
    "test_distributed.py": "together",
    "test_exercises.py": "split",
    "test_grade.py": "split",
    "test_cli.py": "together",
    "test_shapes.py": "split",
    "test_checkpoints.py": "together",
}


def pytest_collection_modifyitems(items):
    """Put the slow files first, if two processes share the tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = {name: i for i, name in enumerate(SLOW)}
        items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    def group(nodeid):
        name = side_by_side.file_of(nodeid)
        return nodeid if SLOW.get(name) == "split" else name

    return side_by_side.together(config, log, group)


def pytest_configure(config):
    """Have the run judged by the shape comments it reached, in this process or in all workers."""
    tests = Path(__file__).parent
    expected = {*tests.rglob("test_*.py")} - {*tests.glob("site/*"), *tests.glob("lone/*")}
    config.pluginmanager.register(ShapeComments(TRACER, tests.parent, expected))


@pytest.fixture(autouse=True)
def environment_left_alone():
    """A test that changes the course's variables puts them back: the next test reads them too."""
    before = course_variables()
    yield
    assert course_variables() == before


def course_variables() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k.startswith("SCRATCHFORMER_")}


@pytest.fixture
def plain_signatures():
    """Let a wrong shape or type reach our own checks: the import hook would stop it before."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
