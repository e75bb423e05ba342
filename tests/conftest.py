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

import tracer
from gather import ShapeComments

TRACER = tracer.install(
    install_import_hook(["scratchformer", "scratchformer_course"], "beartype.beartype").hook
)

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# No test is about the milliseconds of one example, which a busy machine multiplies.
hypothesis.settings.register_profile("course", deadline=None)
hypothesis.settings.load_profile("course")


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
