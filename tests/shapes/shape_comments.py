"""What a shape comment says, and whether a shape fits it.

A comment holds shapes in parentheses: `# (B, T, C) -> (B, H, T, D)`. Between shapes stand one `->`
(before and after), operators (`(T, S) @ (S, E)` are the operands), `and` or a comma (a tuple's
elements); `each` holds for all elements. An axis is a letter, a name, a number, a sum or product
of those, or `*batch` and `...` for any number of axes.
Parentheses in prose are shapes only if they hold a capital letter, or if the comment starts there.
"""

import ast
import re
from dataclasses import dataclass, field

LETTER = re.compile(r"[A-Z]\d?")
OPERATORS = {ast.MatMult: "@", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
SIGNS = set(OPERATORS.values())
FREE = ast.Name | ast.Constant | ast.BinOp | ast.Load | ast.operator


class Axis:
    """One size between commas: `T`, `32`, `H*D`, `T+1`; or any number of axes, `*batch`, `...`."""

    def __init__(self, node: ast.expr):
        self.many = isinstance(node, ast.Starred) or getattr(node, "value", None) is ...
        self.names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.code = None if self.many else compile(ast.Expression(node), "<axis>", "eval")

    def size(self, sizes: dict) -> float:
        return eval(self.code, {"__builtins__": {}}, sizes)

    def solve(self, name: str, size: int, sizes: dict) -> int | None:
        """The whole number `name` must be, if the axis is linear in it; None if it cannot tell."""
        try:
            at_0, at_1 = (self.size({**sizes, name: i}) for i in (0, 1))
            return None if at_0 == at_1 else round((size - at_0) / (at_1 - at_0))
        except ZeroDivisionError:
            return None


@dataclass(eq=False)
class Scope:
    """What is known in one function call: sizes, equations not solved yet, values noted."""

    sizes: dict = field(default_factory=dict)
    open: list = field(default_factory=list)  # [(axis, size)]
    notes: dict = field(default_factory=dict)  # number of the comment -> [(roles, name, shape)]

    def fit(self, axes: list[Axis], shape: tuple) -> "Scope | None":
        """This scope and what it learns if `axes` describe `shape`; None if they do not."""
        sizes, many = dict(self.sizes), [i for i, axis in enumerate(axes) if axis.many]
        if many:
            at, extra = many[0], len(shape) - len(axes) + 1
            if extra < 0:
                return None
            middle, shape = shape[at : at + extra], shape[:at] + shape[at + extra :]
            for name in axes[at].names:
                if sizes.setdefault(name, middle) != middle:
                    return None
            axes = axes[:at] + axes[at + 1 :]
        if len(axes) != len(shape):
            return None
        equations = self.open + list(zip(axes, shape, strict=True))
        while True:
            left = []
            for axis, size in equations:
                unknown = axis.names - sizes.keys()
                if len(unknown) == 1:
                    (name,) = unknown
                    solved = axis.solve(name, size, sizes)
                    if solved is not None:
                        sizes[name] = solved
                if axis.names - sizes.keys():
                    left.append((axis, size))
                elif axis.size(sizes) != size:
                    return None
            if len(left) == len(equations) or not left:
                return Scope(sizes, left, self.notes)
            equations = left


def read_shape(text: str) -> list[Axis] | None:
    """The axes of `B, T, C`; None if that is prose. Raises ValueError if it should be a shape."""
    try:
        node = ast.parse(f"({text.strip()})", mode="eval").body
    except SyntaxError:
        if re.match(r"\s*[A-Z]\s*,", text):
            raise ValueError(f"cannot read ({text}) as a shape") from None
        return None
    if not isinstance(node, ast.Tuple):
        return None
    for axis in node.elts:
        for part in ast.walk(axis.value if isinstance(axis, ast.Starred) else axis):
            is_size = getattr(part, "value", ...) is ... or type(part.value) is int
            if not isinstance(part, FREE) or not is_size:
                return None
    return [Axis(axis) for axis in node.elts]


class Comment:
    """What one comment claims: shapes of inputs, in stages, and of the result."""

    def __init__(self, where: str, text: str):
        self.where, self.text, self.verified = where, text, False
        body = text.lstrip("# ")
        groups = re.finditer(r"(?<![\w.\])])\(([^()]*)\)", body)
        shapes = [(m, axes) for m in groups if (axes := read_shape(m[1])) is not None]
        begins = re.match(r"(each )?\(", body)
        self.first = bool(shapes and begins and shapes[0][0].start() == begins.end() - 1)
        if not self.first:
            shapes = [(m, axes) for m, axes in shapes if self._sure(axes)]
        self.sure = any(self._sure(axes) for _, axes in shapes)
        self.each = bool(re.search(r"\b(each|both)\b", re.split(r"[;:]", body)[0]))
        stages = [("", [])]  # (how the shapes are joined, [(text, axes)])
        for i, (match, axes) in enumerate(shapes):
            join = body[shapes[i - 1][0].end() : match.start()].strip() if i else ""
            if join == "->":
                stages.append(("", []))
            elif i:
                if join not in SIGNS and not re.fullmatch(r"[,;]?( ?and)?( ?each)?", join):
                    raise ValueError(f"cannot read {join!r} between two shapes")
                stages[-1] = (join if join in SIGNS else "and", stages[-1][1])
            stages[-1][1].append((match[0], axes))
        rest = body[shapes[-1][0].end() :].lstrip() if shapes else ""
        if stages[-1][0] in SIGNS or rest.startswith("->"):
            stages.append(("", []))  # no shape of the result
        if len(stages) > 2:
            raise ValueError("cannot read more than one ->")
        self.inputs, self.result = stages if len(stages) == 2 else (("", []), stages[0])
        self.names = set().union(*(axis.names for _, axes in shapes for axis in axes))

    @staticmethod
    def _sure(axes: list[Axis]) -> bool:
        """Only a capital letter makes parentheses a shape wherever they stand."""
        return any(LETTER.fullmatch(name) for axis in axes for name in axis.names)
