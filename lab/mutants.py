"""Wrong answers made by a program, each of which the check of its exercise must refuse.

Usage: python -m lab.mutants [--only NUMBER]

Every right answer of a table (the first is the worked one of the notebook) is changed in one place
at a time: an operator, a constant, an argument, a missing line. A change that its check accepts is
a survivor. `mutants.json` explains those that are right answers too, by parts of `before -> after`
for each reason; any other is printed, and the script ends with 1: a case is missing in a table.
"""

import argparse
import ast
import copy
import inspect
import json
import random
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scratchformer_course.kit.checks.engine import Exercise
from scratchformer_course.teaching.tables import chapters, exercises

EXPLAINED = Path(__file__).resolve().with_suffix(".json")
LIMIT = 2.0  # seconds for a check of a mutant: some never end
OPERATORS: dict[type, list[type]] = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div, ast.Add],
    ast.Div: [ast.Mult, ast.FloorDiv],
    ast.FloorDiv: [ast.Div],
    ast.Mod: [ast.FloorDiv],
    ast.Pow: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.GtE],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
PAIRS = """max min, amax amin, argmax argmin, sum mean, sum max, sin cos, zeros ones, tril triu,
any all, ceil floor, exp log, sqrt square, tanh sigmoid, relu gelu, topk sort, rows cols,
cumsum cumprod, mean median, add sub, norm sum, rsqrt sqrt, repeat_interleave repeat,
logsigmoid sigmoid, flatten squeeze, randn_like zeros_like, zeros_like ones_like"""
SYMMETRIC = ("transpose", "allclose", "equal", "max", "min", "maximum", "logaddexp")
NEEDED = ast.FunctionDef | ast.ClassDef | ast.Return | ast.Pass
NAMES: dict[str, list[str]] = {}
for pair in PAIRS.split(","):
    for a, b in (pair.split(), reversed(pair.split())):
        NAMES.setdefault(a, []).append(b)


@dataclass(frozen=True)
class Mutant:
    """A worked answer that is changed in one place; `place` is `before -> after`, in one line."""

    exercise: Exercise
    place: str
    answer: Any


def changes(node: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """Other nodes for this one; `names` are those of parameters and variables."""
    for field, value in ast.iter_fields(node):
        if field == "op" or (field == "ops" and len(value) == 1):
            for other in OPERATORS.get(type(value[0] if field == "ops" else value), []):
                yield changed(node, field, [other()] if field == "ops" else other())
    match node:
        case ast.BinOp(left=left, op=ast.Sub() | ast.Div() | ast.MatMult() | ast.FloorDiv()):
            yield ast.BinOp(node.right, node.op, left)
        case ast.Compare(ops=[ast.In()]):
            yield ast.UnaryOp(ast.Not(), node)
        case ast.BoolOp(values=[*values]):
            yield from values
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=float(value)):
            yield from (ast.Constant(2 * value), ast.Constant(0.0), ast.Constant(value * 1.05))
        case ast.Attribute(attr="T" | "mT" | "data"):
            yield node.value
        case ast.Attribute(attr=attr) if attr in NAMES:
            yield from (changed(node, "attr", other) for other in NAMES[attr])
        case ast.Name(id=name, ctx=ast.Load()):
            after = [names[(names.index(name) + 1) % len(names)]] if name in names else []
            yield from (ast.Name(other, ast.Load()) for other in NAMES.get(name, []) + after)
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.Slice():
            yield from (changed(node, f, None) for f in ("lower", "upper", "step"))
        case ast.Tuple(elts=[first, second], ctx=ast.Load()):
            yield ast.Tuple([second, first], ast.Load())
        case ast.comprehension(ifs=[_, *_]):
            yield changed(node, "ifs", [])
        case ast.If() | ast.While():
            yield changed(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.AugAssign():
            yield ast.Assign([node.target], node.value)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield node.func.value  # without the call
        if len(node.args) == 1:
            yield node.args[0]
        if len(node.args) >= 2:
            if not ast.unparse(node.func).endswith(SYMMETRIC):
                yield changed(node, "args", [node.args[1], node.args[0], *node.args[2:]])
            yield changed(node, "args", node.args[:-1])
        for keyword in (k for k in node.keywords if k.arg != "strict"):
            yield changed(node, "keywords", [k for k in node.keywords if k is not keyword])
    if isinstance(node, ast.stmt) and not isinstance(node, NEEDED):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        yield from [] if is_docstring else [ast.Pass()]


def changed(node: ast.AST, field: str, value: Any) -> ast.AST:
    """A shallow copy with one field replaced."""
    other = copy.copy(node)
    setattr(other, field, value)
    return other


class Replace(ast.NodeTransformer):
    """Puts another node in the place of one."""

    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def mutated(source: str, most: int | None = None) -> dict[str, str]:
    """Sources with one place changed, by their text; of more than `most`, some that are drawn."""
    tree = ast.parse(source)
    names = sorted(
        {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        | {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} - {"self"}
    )
    counts = [len(list(changes(node, names))) for node in ast.walk(tree)]
    places = [(i, j) for i, n in enumerate(counts) for j in range(n)]
    if most is not None:
        random.Random(source).shuffle(places)
    original = ast.unparse(tree)
    sources: dict[str, str] = {}
    for i, j in places:
        if len(sources) == most:
            break
        other = copy.deepcopy(tree)
        old = list(ast.walk(other))[i]
        new = list(changes(old, names))[j]
        try:
            text = ast.unparse(ast.fix_missing_locations(Replace(old, new).visit(other)))
            compile(text, "<mutant>", "exec")
        except (SyntaxError, ValueError, TypeError, AttributeError):
            continue
        if text != original:
            sources[text] = words(original, text)
    return sources


def words(before: str, after: str) -> str:
    """The first line that differs, before and after."""
    pairs = [*zip(before.splitlines(), after.splitlines(), strict=False)]
    a, b = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"{a.strip()} -> {b.strip()}"


def mutants(number: str = "", most: int | None = None) -> Iterator[Mutant]:
    """Mutants of the worked answers of one exercise, of a chapter's, or of all.

    There are `most` for each answer, or all of them.
    """
    for chapter in chapters():
        for exercise in exercises(chapter):
            if not f"{exercise.number}.".startswith(f"{number}." if number else ""):
                continue
            sources: dict[str, Mutant] = {}
            for answer in exercise.solutions:
                names = vars(sys.modules[answer.__module__])
                answer = names.get(f"Right{exercise.name}", answer)  # a class behind a lambda
                if answer.__qualname__.isidentifier():  # no lambda, and nothing a function made
                    source = textwrap.dedent(inspect.getsource(answer))
                    for text, place in mutated(source, most).items():
                        sources[text] = Mutant(exercise, place, answer_of(text, names))
            yield from sources.values()


def answer_of(text: str, names: dict[str, Any]) -> Any:
    """The function or class that a source defines; the error, where its definition fails."""
    known = {**names, "__name__": "mutant"}
    try:
        exec(compile(text, "<mutant>", "exec"), known)
    except Exception as error:
        return error
    return known[ast.parse(text).body[0].name]  # type: ignore[attr-defined]


def reason(mutant: Mutant) -> str:
    """Why a change leaves the answer right, as `mutants.json` says; nothing if it does not."""
    known = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    for number in ("any", mutant.exercise.number):
        for why, parts in known.get(number, {}).items():
            if any(part in mutant.place for part in parts):
                return why
    return ""


def survivors(tried: Iterable[Mutant]) -> list[str]:
    """The mutants that a check accepts and nothing explains, by number and place."""
    return [
        f"{mutant.exercise.number} {mutant.place}"
        for mutant in tried
        if mutant.exercise(mutant.answer, limit=LIMIT) and not reason(mutant)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="NUMBER", help="an exercise or a chapter")
    options = parser.parse_args(arguments)
    counts = Counter[str]()
    for mutant in mutants(options.only):
        start, verdict = time.perf_counter(), mutant.exercise(mutant.answer, limit=LIMIT)
        why = reason(mutant) if verdict else ""
        state = ("explained" if why else "survived") if verdict else "refused"
        counts[state] += 1
        if state == "survived" or time.perf_counter() - start > LIMIT / 2:
            print(f"{mutant.exercise.number} {state} {mutant.place}", flush=True)
    print(f"{counts.total()} mutants:", *(f"{n} {state}" for state, n in sorted(counts.items())))
    return int(counts["survived"] > 0)


if __name__ == "__main__":
    sys.exit(main())
