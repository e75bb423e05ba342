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
QK = "q, k = torch.zeros(3, 4), torch.zeros(5, 4)\n"


def pytest_in(folder, command, env):
    command = [sys.executable, *command]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture
def trace(monkeypatch):
    """Run source with its comments checked; returns those that no value has reached."""

    def run(source: str, file: str = "some.py") -> list[str]:
        tracer = Tracer()
        monkeypatch.setattr(builtins, "__shapes__", tracer, raising=False)
        tree = tracer.instrument(source, ast.parse(source), f"{file}:", file)
        exec(compile(tree, file, "exec"), {"torch": torch, "__name__": "traced"})
        return [comment.text for comment in tracer.comments if not comment.verified]

    return run


LIES = {  # (source, line of the lie, the truth that is said)
    "swapped letters": (X + "y = x.mT  # (B, T, C)", 2, "(B, T, C) is (2, 8, 3)"),
    "a letter with two sizes": ("x = torch.zeros(3, 4)  # (T, T)", 1, "(T, T) is (3, 4)"),
    "a wrong product": (X + "H, D = 2, 3\ny = x  # (B, T, H*D)", 3, "D=3, H=2"),
    "a product wrong in hindsight": (
        X + "y = x  # (B, T, H*D)\nz = x.view(2, 3, 4, 2)[..., :1]  # (B, T, H, D)",
        3,
        "(B, T, H, D) is (2, 3, 4, 1)",
    ),
    "a wrong number": (X + "y = x[:, :1]  # (B, 2, C)", 2, "(B, 2, C) is (2, 1, 8)"),
    "a variable of another size": ("V = 5\np = torch.ones(6)  # (V,)", 2, "is (6,) (where V=5)"),
    "before the arrow": (X + "y = x.mT  # (B, C, T) -> (B, C, T)", 2, "(B, C, T) is (2, 3, 8)"),
    "an operand": (QK + "s = q @ k.T  # (T, D) @ (S, D) -> (T, S)", 2, "(S, D) is (4, 5)"),
    "the second of two": ("x, y = torch.zeros(2), torch.zeros(3)  # (T,) and (T,)", 1, "is (3,)"),
    "one of each": ("q, k = torch.zeros(2, 3), torch.zeros(3)  # each (T, D)", 1, "is (3,)"),
    "a tuple of three": ("x = torch.ones(1), torch.ones(2)  # (T,), (S,), (D,)", 1, "3 shapes, 2"),
    "in a loop's head": ("for x in torch.zeros(2, 3):  # (T, C)\n    pass", 1, "(T, C) is (3,)"),
    "inside an expression": (
        X + "y = (\n    x.mT  # (B, C, T)\n    .flatten(1)  # (B, T)\n)",
        4,
        "(B, T) is (2, 24)",
    ),
    "in place": (X + "x += 1  # (B, C, T)", 2, "(B, C, T) is (2, 3, 8)"),
    "no tensor at all": ("x = [1, 2]  # (B, T)", 1, "a list has no shape"),
    "in a method": (
        "class A:\n    def f(self, x):\n        '''Doc.'''\n        B, T = x.shape\n"
        "        return x.T  # (B, T)\nA().f(torch.zeros(2, 3))",
        5,
        "(B, T) is (3, 2)",
    ),
    "what cannot be read": ("x = torch.zeros(2)  # (T, of them)", 1, "cannot read"),
    "what stands behind nothing": ("assert True  # (B, T)", 1, "a shape stands behind"),
}
TRUTHS = {
    "arrows": X + "y = x.view(2, 3, 2, 4).mT  # (B, T, C) -> (B, T, H, D) -> (B, T, D, H)",
    "products and sums": X + "y = x.flatten(0, 1)  # (B*T, C)\nz = x[:, 1:]  # (B, T-1, C)",
    "a product told apart later": X
    + "y = x  # (B, T, H*D)\nz = x.view(2, 3, 2, 4)  # (B, T, H, D)",
    "halves and multiples": "a = torch.ones(3)  # (D/2,)\nb = torch.ones(24)  # (4D,)",
    "any number of axes": "a = torch.ones(1, 2, 3)  # (*batch, T)\nb = a[..., 0]  # (*batch,)\n"
    "c = a.sum(-1)  # (..., T) -> (...,)",
    "a scope for each call": "def f(x):\n    return x.T  # (A, B) -> (B, A)\n"
    "f(torch.ones(2, 3)), f(torch.ones(3, 3))",
    "a new size": "T = 3\nx = torch.ones(3)  # (T,)\nT = 5\ny = torch.ones(5)  # (T,)",
    "elements left out": "U, S, _ = torch.ones(3, 2), torch.ones(2), 0  # (V, width), (width,)",
    "one tensor for two targets": "x, y = torch.ones(2, 3, 4)  # (B, T) and (B, T), y one ahead",
    "an iterator": "x, y = (torch.ones(i) for i in (2, 3))  # (B,) and (T,)",
    "x.shape": X + "x.shape  # (B, T, C)\nB, T, C = x.shape  # (B, T, C)",
    "prose": "pairs = {}  # (int, int) -> int\nn = 1  # as in f(B, T), or (Sennrich 2016)\n"
    "m = 2  # n -> (sorted n-grams, counts)\nt = 'a'  # of the letter T (A, B or C)",
    "not there yet": "def f():\n    y = ...  # your code\n    return y\nf()",
}


@pytest.mark.parametrize(("source", "line", "truth"), LIES.values(), ids=LIES)
def test_a_lie_is_caught_with_its_line_and_the_sizes(trace, source, line, truth):
    with pytest.raises(ShapeLie) as error:
        trace(source)
    assert str(error.value).startswith(f"some.py:{line}: the comment") and truth in str(error.value)


@pytest.mark.parametrize("source", TRUTHS.values(), ids=TRUTHS)
def test_the_truth_is_believed_and_prose_is_no_shape(trace, source):
    assert trace(source) == []


NUMPY = "import numpy as np\nx = np.zeros((2, 3))  # (B, T)"
NOTEBOOKS = [  # the cells of notebooks that run together, and what is said
    (
        {"1_true": [NUMPY, "x.shape"], "2_never_reached": ["def f(x):\n    return x  # (T,)"]},
        ["3 passed, 1 error", "2_never_reached.ipynb: no value has reached the shape comments"],
    ),
    (
        {"swapped": [NUMPY, "x = x + 1\ny = x.T  # (B, T)"]},
        ["Cell 1", "line 2: the comment `# (B, T)` is not true: (B, T) is (3, 2) (where B=2, T=3)"],
    ),
]


@pytest.mark.parametrize(("notebooks", "said"), NOTEBOOKS)
def test_a_lie_in_a_cell_fails_the_run_of_the_notebooks(tmp_path, notebooks, said):
    (tmp_path / "notebooks").mkdir()
    for name, sources in notebooks.items():
        cells = [nbformat.v4.new_markdown_cell("# 01 · A chapter\n")]
        cells += [nbformat.v4.new_code_cell(source, execution_count=1) for source in sources]
        facts = {"course": {"needs": [], "seconds": 0}}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=facts)
        nbformat.write(notebook, tmp_path / "notebooks" / f"{name}.ipynb")
    shutil.copytree(ROOT / "tests" / "shapes", tmp_path / "tests" / "shapes")
    for name in ("notebooks/conftest.py", "notebooks/sanitize.cfg", "tests/last_digits.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    command = "-m pytest -q -p no:cacheprovider --nbval-lax --nbval-current-env notebooks"
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "SCRATCHFORMER_OFFLINE": "1"}
    run = pytest_in(tmp_path, command.split(), env)
    assert [words for words in said if words not in run.stdout] == [], run.stdout + run.stderr


PROJECT = {
    "scratchformer/__init__.py": "",
    "scratchformer/some.py": "def f(x):\n    return x  # (B, T)\n\n\n"
    "def g(x):\n    return x  # (B, T, C)\n",
    "conftest.py": "from tracer import install\nfrom gather import ShapeComments\n"
    "from pathlib import Path\nfrom jaxtyping import install_import_hook\n"
    "TRACER = install(install_import_hook('scratchformer', 'beartype.beartype').hook)\n"
    "def pytest_configure(config):\n    root = Path(__file__).parent\n"
    "    config.pluginmanager.register(ShapeComments(TRACER, root, {*root.glob('test_*.py')}))\n",
    "test_f.py": "import numpy as np\nfrom scratchformer.some import f\n"
    "def test_f():\n    f(np.ones((2, 3)))\n",
    "test_g.py": "import numpy as np\nfrom scratchformer.some import g\n"
    "def test_g():\n    g(np.ones((2, 3, 4)))\n",
}
ALL = "shape comments: all 2 of the package were reached"
FAULTS = {
    "scratchformer/other.py": "def h(x):\n    return x  # (B,)\n",
    "test_f.py": "from scratchformer.some import f\ndef test_nothing():\n    pass\n",
    "test_g.py": "import numpy as np\nimport pytest\nfrom scratchformer.some import g\n"
    "def test_g():\n    with pytest.raises(AssertionError):\n        g(np.ones((2, 4)))\n",
}
RUNS = {  # what is changed in the project, how it is run, what is said
    "all reached, each by another test": ({}, "", [ALL]),
    "two never reached, and a lie that a test swallows": (
        FAULTS,
        "-n 2 -p xdist",
        [
            "no test has reached scratchformer/some.py:2: # (B, T)",
            "no test has reached scratchformer/other.py:2: # (B,)",
            "a shape comment is not true: scratchformer/some.py:6",
        ],
    ),
}


@pytest.mark.parametrize(("changes", "workers", "words"), RUNS.values(), ids=RUNS)
def test_a_comment_that_no_test_reaches_fails_the_run(tmp_path, changes, workers, words):
    shutil.copytree(ROOT / "tests" / "shapes", tmp_path / "tests" / "shapes")
    for name, source in {**PROJECT, **changes}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    path = os.pathsep.join([str(tmp_path), str(tmp_path / "tests" / "shapes")])
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    env |= {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # plugins take seconds
    command = f"-m pytest -q --rootdir . -p no:cacheprovider {workers} test_f.py test_g.py".split()
    run = pytest_in(tmp_path, command, env)
    assert [line for line in words if line not in run.stdout] == [], run.stdout + run.stderr
    assert (run.returncode == 0) == (not changes), run.stdout
