"""The tracer of shape comments catches planted lies, believes true ones, and saw all there are."""

import ast
import builtins
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from tracer import ShapeLie, Tracer

ROOT = Path(__file__).resolve().parents[2]
X = "x = torch.zeros(2, 3, 8)  # (B, T, C)\n"
LIES = {  # source: the truth that is said of its last line
    X + "y = x.mT  # (B, T, C)": "(B, T, C) is (2, 8, 3)",
    X + "H, D = 2, 3\ny = x  # (B, T, H*D)": "D=3, H=2",
    X + "y = x.mT  # (B, C, T) -> (B, C, T)": "(B, C, T) is (2, 3, 8)",
    X + "s = x[0] @ x[0].T  # (T, C) @ (T, C) -> (T, T)": "(T, C) is (8, 3)",
    "x, y = torch.zeros(2), torch.zeros(3)  # (T,) and (T,)": "is (3,)",
    "q, k = torch.zeros(2, 3), torch.zeros(3)  # each (T, D)": "is (3,)",
    "x = torch.ones(1), torch.ones(2)  # (T,), (S,), (D,)": "3 shapes, 2",
    X + "x += 1  # (B, C, T)": "write x = x +",
    "x = [1, 2]  # (B, T)": "a list has no shape",
    X + "def f(x):\n    B, T, C = x.shape\nf(x.mT); x  # (C, T)": "(C, T) is (2, 3, 8)",
    "x = torch.zeros(2)  # (T, of them)": "cannot read",
    X + "y = x.mT.mT  # (B, T, C) -> (B, C, T) -> (B, T, C)": "cannot read",
    "assert True  # (B, T)": "a shape stands behind",
}
TRUTHS = {
    "arrows": X + "y = x.view(2, 3, 2, 4).mT  # (B, T, C) -> (B, T, D, H)",
    "products and sums": X + "y = x.flatten(0, 1)  # (B*T, C)\nz = x[:, 1:]  # (B, T-1, C/2*2)",
    "a product told apart later": X
    + "y = x  # (B, T, H*D)\nz = x.view(2, 3, 2, 4)  # (B, T, H, D)",
    "any number of axes": "a = torch.ones(1, 2, 3)  # (*batch, T)\nb = a[..., 0]  # (*batch,)\n"
    "c = a.sum(-1)  # (..., T) -> (...,)",
    "a scope for each call": "def f(x):\n    return x.T  # (A, B) -> (B, A)\n"
    "f(torch.ones(2, 3)), f(torch.ones(3, 3))",
    "a new size": "T = 3\nx = torch.ones(3)  # (T,)\nT = 5\ny = torch.ones(5)  # (T,)",
    "elements left out": "U, S, _ = torch.ones(3, 2), torch.ones(2), 0  # (V, width), (width,)",
    "the head of a loop": "for row in torch.ones(3, 2).split(1):  # each (1, C)\n    pass",
    "an iterator": "x, y = (torch.ones(i) for i in (2, 3))  # (B,) and (T,)",
    "prose": "pairs = {}  # (int, int) -> int\nn = 1  # as in f(B, T), or (Sennrich 2016)\n"
    "m = 2  # n -> (sorted n-grams, counts)\nt = 'a'  # of the letter T (A, B or C)",
    "not there yet": "def f():\n    y = ...  # your code\n    return y\nf()",
}


def pytest_in(folder, command, env):
    """What pytest prints in a folder, with the tests of shapes beside it."""
    shutil.copytree(ROOT / "tests" / "shapes", folder / "tests" / "shapes")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *command.split()]
    env = os.environ | env | {"PYTEST_ADDOPTS": ""}  # a choice of tests would be made inside, too
    run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return run.stdout + run.stderr


@pytest.fixture
def trace(monkeypatch):
    """Run source with its comments checked; returns those that no value has reached."""

    def run(source: str) -> list[str]:
        tracer = Tracer()
        monkeypatch.setattr(builtins, "__shapes__", tracer, raising=False)
        tree = tracer.instrument(source, ast.parse(source), "some.py:", "some.py")
        exec(compile(tree, "some.py", "exec"), {"torch": torch, "__name__": "traced"})
        return [comment.text for comment in tracer.comments if not comment.verified]

    return run


@pytest.mark.parametrize("source", LIES)
def test_a_lie_is_caught_with_its_line_and_the_sizes(trace, source):
    with pytest.raises(ShapeLie, match=f"some.py:{len(source.splitlines())}: the comm") as error:
        trace(source)
    assert LIES[source] in str(error.value)


@pytest.mark.parametrize("source", TRUTHS.values(), ids=TRUTHS)
def test_the_truth_is_believed_and_prose_is_no_shape(trace, source):
    assert trace(source) == []


NOTEBOOKS = {  # what is said of a second cell
    "no value has reached the shape comments": "def f(x):\n    return x  # (T,)",
    "`# (B, T)` is not true: (B, T) is (3, 2) (where B=2, T=3)": "x = x + 1\ny = x.T  # (B, T)",
}


@pytest.mark.parametrize("words", NOTEBOOKS)
def test_a_lie_in_a_cell_or_a_comment_never_reached_fails_its_notebook(tmp_path, words):
    (tmp_path / "notebooks").mkdir()
    for name, source in (("1_true", "x.shape"), ("2_other", NOTEBOOKS[words])):
        sources = ["import numpy as np\nx = np.zeros((2, 3))  # (B, T)", source]
        cells = [nbformat.v4.new_markdown_cell("# 01 · A chapter\n")]
        cells += [nbformat.v4.new_code_cell(source, execution_count=1) for source in sources]
        facts = {"course": {"needs": [], "seconds": 0}}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=facts)
        nbformat.write(notebook, tmp_path / "notebooks" / f"{name}.ipynb")
    (tmp_path / "tests").mkdir()
    for name in ("notebooks/conftest.py", "notebooks/sanitize.cfg", "tests/last_digits.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {"PYTHONPATH": path, "SCRATCHFORMER_OFFLINE": "1"}
    printed = pytest_in(tmp_path, "--nbval-lax --nbval-current-env notebooks", env)
    assert words in printed and "2_other.ipynb" in printed and "1_true.ipynb" not in printed


PROJECT = {
    "scratchformer/some.py": "def f(x):\n    return x  # (B, T)\n\n\n"
    "def g(x):\n    return x  # (B, T, C)\n",
    "scratchformer/other.py": "def h(x):\n    return x  # (B,)\n",
    "conftest.py": "from tracer import install\nfrom gather import ShapeComments\n"
    "from pathlib import Path\nfrom jaxtyping import install_import_hook\n"
    "TRACER = install(install_import_hook('scratchformer', 'beartype.beartype').hook)\n"
    "def pytest_configure(config):\n    root = Path(__file__).parent\n"
    "    config.pluginmanager.register(ShapeComments(TRACER, root, {*root.glob('test_*.py')}))\n",
    "test_f.py": "import numpy as np\nfrom scratchformer.some import f\n"
    "def test_f():\n    f(np.ones((2, 3)))\n",
    "test_g.py": "import numpy as np\nimport pytest\nfrom scratchformer.some import g\n"
    "def test_g():\n    with pytest.raises(AssertionError):\n        g(np.ones((2, 4)))\n",
}


def test_a_comment_that_no_test_reaches_and_a_lie_that_a_test_swallows_fail_the_run(tmp_path):
    for name, source in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    path = os.pathsep.join([str(tmp_path), str(tmp_path / "tests" / "shapes")])
    env = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # plugins take seconds
    printed = pytest_in(tmp_path, "--rootdir . -n 2 -p xdist test_f.py test_g.py", env)
    assert "no test has reached scratchformer/other.py:2: # (B,)" in printed, printed
    assert "a shape comment is not true: scratchformer/some.py:6" in printed
    assert "some.py:2" not in printed, "one of the two workers has reached it"
