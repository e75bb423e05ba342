"""What a GPT costs, in JavaScript: equal to the package, the chapter, real models, PyTorch."""

import ast
import json
import random
import shutil
import subprocess
from pathlib import Path

import jaxtyping
import nbformat
import pytest
import torch
import torch.nn.functional as F
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from scratchformer import scaling
from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch15_costs.live import costs

ROOT = Path(__file__).resolve().parents[2]
COURSE = ROOT / "scratchformer_course"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on the PATH: costs.js was not run")
PROGRAM = """
global.scratchformerLive = require(%(page)s);
const F = require(%(figure)s), input = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify((() => { %(body)s })()));
"""
SIZES = ("vocab_size", "context_length", "d_model", "n_layers")
PARTS = {  # of the package, by the names in the figure
    "token table": "token embedding",
    "position table": "position embedding",
    "attention": "attention",
    "feed-forward": "feed-forward",
    "norms": "norms",
}
PRODUCTS = {
    "attention's matrices": "attention projections",
    "scores and mixing": "attention scores and mixing",
    "feed-forward": "feed-forward",
    "output head": "output head",
}


def in_node(body, **given):
    files = {
        "page": COURSE / "kit/figure/live_figure.js",
        "figure": COURSE / "ch15_costs/live.js",
    }
    program = PROGRAM % {"body": body, **{k: json.dumps(str(v)) for k, v in files.items()}}
    done = subprocess.run(
        [NODE, "-e", program], input=json.dumps(given), capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fuzzed(n=200):
    draw = random.Random(0)
    return [
        {
            "vocab_size": draw.randint(2, 60_000),
            "context_length": draw.choice((1, 7, 64, 1024, 2048)),
            "d_model": 16 * draw.randint(1, 300),
            "n_layers": draw.randint(1, 48),
        }
        for _ in range(n)
    ]


@pytest.fixture(scope="module")
def chapter():
    """The functions and classes that chapter 15 defines, its worked solutions too."""
    found = {
        "torch": torch,
        "F": F,
        "TorchDispatchMode": TorchDispatchMode,
        "StorageWeakRef": StorageWeakRef,
        "tree_leaves": tree_leaves,
        "saved_tensors_hooks": saved_tensors_hooks,
    }
    for cell in nbformat.read(ROOT / "notebooks" / "15_costs.ipynb", as_version=4).cells:
        if cell.cell_type == "code" and "%pip" not in cell.source:
            kept = [
                node
                for node in ast.parse(cell.source).body
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
            ]
            exec(compile(ast.Module(kept, []), cell.id, "exec"), found)
    found["gpt_parameters"] = found["gpt_parameters_solution"]
    return found


@needs_node
def test_parameters_and_operations_are_the_packages_part_by_part():
    sizes = fuzzed()
    body = "return input.sizes.map((size) => [F.parameters(size), F.operations(size)])"
    for size, (parameters, operations) in zip(sizes, in_node(body, sizes=sizes), strict=True):
        config = GPTConfig(**size, n_heads=1)
        counted = scaling.count_parameters(config)
        assert parameters == {ours: counted[theirs] for ours, theirs in PARTS.items()}
        forward = scaling.forward_flops(config)
        T = size["context_length"]
        assert {name: n * T for name, n in operations.items()} == {
            ours: 3 * forward[theirs] for ours, theirs in PRODUCTS.items()
        }


@needs_node
def test_parameters_are_those_of_real_models():
    sizes = fuzzed(8)
    found = in_node("return input.sizes.map(F.parameters)", sizes=sizes)
    for size, parts in zip(sizes, found, strict=True):
        with torch.device("meta"):
            model = GPT(GPTConfig(**size, n_heads=1))

        def count(*modules):
            return sum(p.numel() for module in modules for p in module.parameters())

        assert sum(parts.values()) == count(model)
        assert parts["token table"] == count(model.wte)
        assert parts["attention"] == count(*(block.attn for block in model.h))
        assert parts["feed-forward"] == count(*(block.mlp for block in model.h))


@needs_node
def test_the_batch_that_fits_and_the_memory_are_the_chapters(chapter):
    draw, cases = random.Random(1), []
    for size in fuzzed():
        cases.append([draw.choice((10**7, 8 * 10**9, 24 * 10**9, 80 * 10**9)), size])
    cases.append([10**7, dict(zip(SIZES, (65, 64, 48, 3), strict=True))])
    body = """return input.cases.map(([most, size]) =>
      [F.largestBatch(most, size), F.memory(size, 3)])"""
    for (most, size), (fits, held) in zip(cases, in_node(body, cases=cases), strict=True):
        given = [size[name] for name in SIZES]
        assert fits == chapter["largest_batch_solution"](most, *given)
        n = chapter["gpt_parameters_solution"](*given)
        assert held["weights"] + held["gradients"] + held["optimizer"] == 16 * n
        V, T, C, L = given
        of_batch = held["activations"] + held["three tables of logits"]
        assert of_batch == 3 * T * 4 * ((16 * L + 2) * C + 3 * V)
    assert fits == 12


@needs_node
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("means", [0, 1, 2])
def test_what_a_step_holds_is_measured_in_pytorch(chapter, dtype, means):
    """Weights, gradients and the optimizer's numbers to the byte; the worst moment to 3 %."""
    V, T, C, L, B = 3000, 64, 48, 3, 8
    torch.manual_seed(0)
    model = GPT(GPTConfig(V, T, C, 4, L)).to(dtype)
    optimizer = {
        0: lambda p: torch.optim.SGD(p, 0.1),
        1: lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        2: lambda p: torch.optim.AdamW(p),
    }[means](model.parameters())
    x, y = (torch.randint(V, (B, T)) for _ in range(2))
    worst = chapter["most_at_once"](model, x, y)
    optimizer.step()
    size = dict(zip(SIZES, (V, T, C, L), strict=True))
    settings = {"bytes": dtype.itemsize, "means": means}
    held = in_node(
        "return F.memory(input.size, input.B, input.settings)", size=size, B=B, settings=settings
    )

    def in_bytes(tensors):
        return sum(t.numel() * t.element_size() for t in tensors)

    assert held["weights"] == in_bytes(model.parameters())
    assert held["gradients"] == in_bytes(p.grad for p in model.parameters())
    state = [t for s in optimizer.state.values() for t in s.values() if torch.is_tensor(t)]
    assert held["optimizer"] == in_bytes(t for t in state if t.numel() > 1)
    by_rule = held["activations"] + held["three tables of logits"]
    assert by_rule == pytest.approx(worst, rel=0.03)


SMALL = ("small", 65, 64, 48, 3, 8)


def shown(*sizes, **options):
    return costs(
        sizes,
        lambda V, T, C, L: 1234 * L,
        lambda V, T, C, L: 50 * T,
        lambda most, V, T, C, L: most // 10**9,
        **options,
    )


def test_the_still_figure_holds_what_the_functions_of_the_page_say():
    still = shown(SMALL).still
    for cell in ("small", "3,702", "1.50e+02", ">8<", ">24<", ">80<"):
        assert cell in still


def test_every_given_size_is_a_place_of_its_slider():
    odd = ("odd", 67, 63, 50, 5, 65)
    settings = shown(SMALL, odd, start="odd").settings
    assert settings["start"] == 1
    for preset in settings["presets"]:
        for name, scale in settings["scales"].items():
            assert preset[name] in scale and scale == sorted(set(scale))


def test_the_stored_form_is_small_and_has_no_script(monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_LIVE", "stored")
    html = shown(SMALL)._repr_html_()
    assert len(html) < 4_000 and "<script" not in html
    assert html == shown(SMALL)._repr_html_()


@pytest.mark.parametrize(
    ("sizes", "options", "said"),
    [
        ([("x", 65, 64, 48, 3)], {}, "expected a name and five positive whole numbers"),
        ([("x", 65, 64, 0, 3, 1)], {}, r"got the size \('x', 65, 64, 0, 3, 1\)"),
        ([("x", 65, 64, 48, 3, True)], {}, "positive whole numbers: vocab_size"),
        ([("x", 65, 64, 48.0, 3, 1)], {}, "positive whole numbers: vocab_size"),
        ([(65, 65, 64, 48, 3, 1)], {}, "expected a name"),
        ([SMALL, SMALL], {}, "each with its own name"),
        ([], {}, "expected one or more"),
        ([SMALL], {"start": "large"}, "start='large', expected one of small"),
    ],
)
@pytest.mark.usefixtures("plain_signatures")
def test_what_is_no_size_is_told(sizes, options, said):
    with pytest.raises(ValueError, match=said):
        shown(*sizes, **options)


@pytest.mark.parametrize("wrong", [0, 1, 2])
@pytest.mark.parametrize("counted", [float("nan"), float("inf"), -1, True, None])
def test_a_function_that_counts_no_number_is_told(wrong, counted, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    functions = [lambda *sizes: 1.0, lambda *sizes: 2.0, lambda *sizes: 3.0]
    functions[wrong] = lambda *sizes: counted
    said = "what the functions count for small holds .*, expected finite numbers of at least 0"
    with pytest.raises(ValueError, match=said):
        costs([SMALL], *functions)
