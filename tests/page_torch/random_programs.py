"""Draws random programs of plain `torch` code for random_expressions.py, and runs their lines.

A program has one to three input tensors (0 to 4 axes of size 0 to 4, contiguous or not), then one to four operations.
"""

import math
import random
import re
import sys
from pathlib import Path

import torch as real

sys.path.insert(0, str(Path(__file__).parents[2]))
from scratchformer_course import page_torch as small

NOT_IN_PAGE = getattr(small, "NotInPage", ())
# The operations, two blanks between them. Each name in braces is drawn by `Program.draw`, a digit asks for a rank.
TABLE = """
{x} + {o}  {x} - {o}  {x} * {o}  {x} / {o}  {x} // {o}  {x} % {o}  {x} ** {power}  {s} - {x}  {s} / {x}  -{x}  2 ** {x}  {x}.pow({power})
{x} == {o}  {x} != {o}  {x} < {o}  {x} <= {o}  {x} > {o}  {x} >= {o}  ~{x}  {x} & {o}  {x} | {o}  {x}.logical_not()  torch.equal({x}, {same})
torch.maximum({x}, {o})  torch.minimum({x}, {t})  torch.allclose({x}, {same})  {x}.isnan()  {x}.isinf()  {x}.isfinite()  {x}.square()
{x}.exp()  {x}.log()  {x}.sqrt()  {x}.rsqrt()  {x}.abs()  {x}.sign()  {x}.sin()  {x}.cos()  {x}.tanh()  {x}.sigmoid()  {x}.floor()  {x}.round()
{x}.sum()  {x}.sum({D}{k})  {x}.mean()  {x}.mean({D}{k})  {x}.var({D}{k})  {x}.var({D}, unbiased=False{k})  {x}.std()  {x}.std({d}{k})
{x}.max()  {x}.min()  {x}.max({d}{k})  {x}.min({d}{k})  {x}.argmax()  {x}.argmax({d}{k})  {x}.argmin({d}{k})  {x}.amax({D}{k})  {x}.amin({D}{k})
{x}.any()  {x}.any({d}{k})  {x}.all()  {x}.all({d}{k})  {x}.prod()  {x}.prod({d}{k})  {x}.cumsum({d})  {x}.logsumexp({D}{k})  {x}.norm()
{x}.norm(dim={D}{k})  torch.softmax({x}, {d})  {x}.softmax(dim={d})  F.softmax({x}, dim={d})  {x}.log_softmax({d})  F.log_softmax({x}, dim={d})
{x}.view({shape})  {x}.reshape({shape})  {x}.flatten()  {x}.flatten({d})  {x}.flatten({d}, {d})  {x}.transpose({d}, {d})  {x}.permute({perm})
{x}.unsqueeze({dnew})  {x}.squeeze()  {x}.squeeze({d})  {x}.expand({wide})  {x}.unflatten({d}, (-1, {n}))  {x}.mT  {x2}.t()  {x}.T  {x}.contiguous()
{x}.clone()  {x}.detach()  {x}.view_as({same})  {x}.expand_as({t})  {x}.movedim({d}, {d})  {x}.narrow({d}, 0, {n})  {x}.diagonal()
{x}[{i}]  {x}[{i}]  {x}[{i}]  {x}[{i}]  {x}[{mask}]  {x}[{iset}] = {v}  {x}[{iset}] = {v}  {x}[{mask}] = {s}  {x}[{iset}] += {v}  {x}[{iset}] = {s}
torch.cat([{x}, {like}], {dd})  torch.cat([{like}, {x}, {x}], dim={dd})  torch.stack([{x}, {same}], dim={dnew})  torch.stack([{x}, {x}])
{x}.split({n}, {d})  torch.split({x}, dim={d}, split_size_or_sections={sizes})  {x}.chunk({n}, {d})  {x}.unbind({d})  {x}.unbind()
{x} @ {right}  {x} @ {right}  {left} @ {x}  torch.matmul({x}, {right})  torch.bmm({x3}, {right})  torch.mm({x2}, {right})  torch.einsum({einsum})
torch.einsum({einsum})  torch.outer({x1}, {bias})  {x1}.dot({same})  torch.where({cond}, {x}, {o})  torch.where({cond}, {s}, {x})
{x}.masked_fill({cond}, {s})  {x}.tril({q})  {x}.triu({q})  torch.tril({x})  torch.triu({x}, diagonal={q})  {x}.gather({d}, {g})
{x}.index_select({d}, {l})  {x}.scatter({d}, {u}, {s})  {x}.scatter({d}, {u}, {src})  {x}.scatter_add({d}, {g}, {src})  {x}.roll({q}, {d})
{x}.roll({q})  {x}.flip({d})  {x}.repeat({times})  {x}.repeat_interleave({n}, dim={d})  {x}.repeat_interleave({n})  {x}.clamp({low})
{x}.clamp(min={low}, max=1)  {x}.clamp(max=0.5)  {x}.sort(dim={d}, stable=True)  {x}.sort(dim={d}, descending=True, stable=True)
{x}.argsort(dim={d}, stable=True)  {untied}.topk({few}, dim={dd})  {untied}.topk({few}, dim={dd}, largest=False)  {x}.nonzero()  {x}.unique()
torch.zeros_like({x})  torch.ones_like({x})  torch.full_like({x}, {s})  {x}.new_zeros({wide})  {x}.float()  {x}.double()  {x}.long()  {x}.bool()
{x}.int()  {x}.to(torch.float32)  {x}.to(torch.float64)  {x}.type_as({t})  {x}.item()  {x}.tolist()  {x}.shape  {x}.size({d})  len({x})
{x}.numel()  float({x})  bool({x})  {x}.add_({w})  {x}.sub_({w})  {x}.mul_({w})  {x}.div_({w})  {x}.masked_fill_({mask}, {s})  {x}.copy_({w})
{x}.fill_({s})  {x}.zero_()  {x}.clamp_({low})  {x} += {w}  {x} *= {w}  {x}.clone().add_({w})  {x}.clone().mul_({w})  F.relu({x})  {x}.relu()
F.linear({x}, {weight})  F.linear({x}, {weight}, {bias})  F.layer_norm({x}, {last})  F.layer_norm({x}, {last}, {gain}, {gain})  F.gelu({x})
F.gelu({x}, approximate="tanh")  F.cross_entropy({x2}, {targets})  F.cross_entropy({x2}, {targets}, reduction="none")  F.silu({x})
F.cross_entropy({x2}, {targets}, ignore_index=0)  F.cross_entropy({x2}, {targets}, reduction="sum")  F.mse_loss({x}, {same})
F.one_hot({ints}, 4)  F.one_hot({ints})  F.pad({x}, {pads})  F.pad({x}, {pads}, value={s})  F.embedding({rows}, {x2})
"""
OPERATIONS = [operation for row in TABLE.strip().split("\n") for operation in row.split("  ")]


class Unfit(Exception):
    """The drawn operation has no sensible arguments for the drawn tensor, so that another one is drawn."""


class Program:
    """A random program: its steps (operation, line of code, name of the result), and the real values so far."""

    def __init__(self, seed):
        self.r, self.steps = random.Random(seed), []
        for number in range(self.r.choice([1, 1, 2, 3])):
            self.add_input(f"x{number}")
        for number in range(self.r.choice([1, 2, 2, 3, 3, 4])):
            if not self.add_operation(f"y{number}"):
                break

    def literal(self, shape, dtype="float32", below=None):
        """Returns the text of a tensor: ties, zeros, negatives, at times inf and nan, or whole numbers under `below`."""
        r, odd, unit = self.r, self.r.random() < 0.06, self.r.choice([4, 4, 4, 100])

        def number():
            if below is not None or dtype == "bool":
                return r.random() < 0.5 if dtype == "bool" else r.randrange(below or 2)
            if odd and dtype[0] == "f" and r.random() < 0.3:
                return r.choice([math.inf, -math.inf, math.nan])
            return r.randint(-2 * unit, 2 * unit) / unit if dtype[0] == "f" else r.randint(-3, 3)

        def nest(sizes):
            return [nest(sizes[1:]) for _ in range(sizes[0])] if sizes else number()

        return f"torch.{f'zeros({tuple(shape)}' if 0 in shape[:-1] else f'tensor({nest(list(shape))}'}, dtype=torch.{dtype})"

    def add_input(self, name):
        """Adds an input: contiguous, or a transposed, sliced or expanded view, either of a leaf or as a leaf."""
        r = self.r
        shape = r.choices(
            range(5), [3, 15, 30, 32, 20], k=r.choices(range(5), [8, 20, 36, 26, 10])[0]
        )
        dtype = r.choices(["float32", "float64", "int64", "bool"], [70, 8, 14, 8])[0]
        slope, view = ".requires_grad_()" * (dtype[0] == "f" and r.random() < 0.75), ""
        if shape and r.random() < 0.4:
            a, b, kind = r.randrange(len(shape)), r.randrange(len(shape)), r.randrange(3)
            cut = r.choice(["::2", "1::2", f"{shape[a]}:"])
            view = [f".transpose({a}, {b})", f"[{':, ' * a}{cut}]", f".expand({shape})"][kind]
            shape[a], shape[b] = (shape[b], shape[a]) if kind == 0 else (shape[a], shape[b])
            shape[a] = [shape[a], 2 * shape[a], 1][kind]
        if slope and view and r.random() < 0.5:
            self.run(
                ("input", f"leaf_{name} = {self.literal(shape, dtype)}{slope}", f"leaf_{name}")
            )
            self.run(("input", f"{name} = leaf_{name}{view}", name))
        else:
            self.run(("input", f"{name} = {self.literal(shape, dtype)}{view}{slope}", name))

    def run(self, *steps):
        """Adds steps, runs all with the real PyTorch; returns the error of the last one, or an empty text."""
        self.steps += steps
        self.names = fresh(real)
        return [attempt(line, self.names) for _, line, _ in self.steps][-1]

    def add_operation(self, name):
        """Draws operations until one is fit; returns whether the program may go on after it."""
        while True:
            tensors = tensors_in(self.names)
            self.text, self.x = tensors[-1] if self.r.random() < 0.75 else self.r.choice(tensors)
            self.shape, self.dtype = list(self.x.shape), str(self.x.dtype)[6:]
            self.n, self.dim, self.extra, operation = (
                self.r.randint(1, 3),
                None,
                [],
                self.r.choice(OPERATIONS),
            )
            try:
                code = re.sub(
                    r"\{([a-zA-Z]+)(\d?)\}",
                    lambda found: str(self.draw(*found.groups())),
                    operation,
                )
            except (Unfit, IndexError):
                continue
            if operation in ("{x} += {w}", "{x} *= {w}") and "[" in self.text:
                continue  # a part of a tuple cannot be assigned
            changes, before = re.search(r" [+*]?= ", operation), len(self.steps)
            step = (
                (operation, code, self.text) if changes else (operation, f"{name} = {code}", name)
            )
            error = self.run(*self.extra, step)
            if error and ".cpp" not in error and "INTERNAL" not in error and self.r.random() < 0.12:
                return False
            if not error and all(map(sensible, dict(tensors_in(self.names)).values())):
                return True
            del self.steps[before:]
            self.run()

    def operand(self, shape):
        """Returns the text of another tensor of this shape, which may be non-contiguous or ask for its slope."""
        dtype = (
            self.dtype
            if self.r.random() < 0.85
            else self.r.choice(["float32", "float64", "int64", "bool"])
        )
        turned = len(shape) > 1 and self.r.random() < 0.15
        text = (
            self.literal([*shape[:-2], shape[-1], shape[-2]], dtype) + ".transpose(-2, -1)"
            if turned
            else self.literal(shape, dtype)
        )
        if dtype[0] != "f" or self.r.random() < 0.5:
            return text
        name = f"w{len(self.steps) + len(self.extra)}"
        self.extra.append(("input", f"{name} = {text}.requires_grad_()", name))
        return name

    def broadcast(self, shape, grow=False):
        """Returns a shape that broadcasts with this one (now and then it does not)."""
        r = self.r
        sizes = [r.choices([size, 1, size + 1], [72, 25, 3])[0] for size in shape][
            r.choice([0, 0, 0, 1, 2]) :
        ]
        return [2] + sizes if grow and len(sizes) == len(shape) < 4 and r.random() < 0.1 else sizes

    def axis(self, extra=0):
        """Draws an axis, negative or not, now and then beyond the last one; it is also kept for what is drawn after it."""
        rank = max(1, self.x.dim() + extra)
        self.dim = self.r.randrange(-rank, rank) if self.r.random() < 0.98 else rank
        return self.dim

    def resized(self, size):
        """Returns the shape with another size at the axis drawn last."""
        shape = list(self.shape)
        shape[self.dim] = size
        return shape

    def index(self, unique):
        """Returns the text of an index: ints, slices, None, `...`, lists, int tensors, bool masks."""
        r, parts, length = self.r, [], self.r.randint(1, 2)
        for size in self.shape[: r.randint(0, 4)]:
            rows = r.sample(range(-size, 0), length) if size >= length else []
            rows = (
                [row + size * r.randint(0, 1) for row in rows]
                if unique
                else [r.choice(rows) for _ in rows]
            )
            cut = r.choice([":", "1:", ":-1", "::2", "-2:", ":2", "1:3"])
            parts += ["None"] * (r.random() < 0.1) + [
                r.choice(
                    [
                        cut,
                        cut,
                        r.choice(rows or [size]),
                        rows or cut,
                        f"torch.tensor({rows or [size]})",
                        self.literal([size], "bool") if "[" not in str(parts)[1:] else cut,
                    ]
                )
            ]
        return ", ".join(map(str, parts + ["..."] * (not parts or r.random() < 0.2)))

    def draw(self, key, rank):
        """Returns the text for one name in braces of the table."""
        r, x, shape, n = self.r, self.x, self.shape, self.n
        if rank and int(rank) != x.dim():
            raise Unfit
        if key == "untied" and len(set(map(str, flat(x.tolist())))) < x.numel():
            raise Unfit
        if key in ("i", "iset"):
            self.chosen = self.index(key == "iset")
            return self.chosen
        if key in ("g", "u"):
            self.axis_sizes = shape if key == "u" else self.resized(r.randint(0, shape[self.dim]))
        batch = [r.choice([size, 1]) for size in shape[:-2]][r.randint(0, 2) :]
        drawn = {
            "x": lambda: self.text,
            "untied": lambda: self.text,
            "n": lambda: n,
            "q": lambda: r.randint(-2, 2),
            "s": lambda: r.choice(["2", "-1", "0.5", "0", "3", "1e-3", "-inf", "True"]),
            "low": lambda: r.choice(["-0.5", "0", "-1"]),
            "power": lambda: r.choice(
                ["2", "3", "0.5", "-1", "0", self.operand(self.broadcast(shape))]
            ),
            "t": lambda: self.operand(self.broadcast(shape, grow=True)),
            "same": lambda: self.operand(shape),
            "o": lambda: r.choice(
                [
                    self.draw("s", ""),
                    self.draw("t", ""),
                    self.draw("t", ""),
                    r.choice(tensors_in(self.names))[0],
                ]
            ),
            "w": lambda: r.choice(
                [
                    self.draw("s", ""),
                    self.literal(self.broadcast(shape)),
                    self.operand(self.broadcast(shape)),
                ]
            ),
            "d": self.axis,
            "dnew": lambda: self.axis(1),
            "dd": lambda: self.dim,
            "k": lambda: r.choice(["", ", keepdim=True"]),
            "D": lambda: r.choice(
                [
                    self.axis(),
                    tuple(r.sample(range(x.dim()), r.randint(1, x.dim()))) if shape else -1,
                ]
            ),
            "like": lambda: (self.axis(), self.operand(self.resized(r.randint(0, 3))))[1],
            "few": lambda: (self.axis(), r.randint(0, shape[self.dim]))[1],
            "sizes": lambda: (lambda first: [first, shape[self.dim] - first])(
                r.randint(0, shape[self.dim])
            ),
            "shape": lambda: r.choice(factors(x.numel(), shape)),
            "perm": lambda: r.sample(range(x.dim()), x.dim()),
            "wide": lambda: (
                [2] * r.randint(0, 1) + [size if size != 1 else r.randint(1, 3) for size in shape]
            ),
            "cond": lambda: r.choice(
                [self.literal(self.broadcast(shape, grow=True), "bool"), f"{self.text} > 0.25"]
            ),
            "mask": lambda: r.choice(
                [self.literal(shape[: r.randint(1, 4)], "bool"), f"{self.text} > 0.25"]
            ),
            "v": lambda: self.operand(
                self.broadcast(eval(f"{self.text}[{self.chosen}]", self.names).shape)
            ),
            "times": lambda: [r.randint(1, 2) for _ in range(x.dim() + r.randint(0, 1))],
            "g": lambda: self.literal(self.axis_sizes, "int64", shape[self.dim]),
            "src": lambda: self.operand(self.axis_sizes),
            "u": lambda: f"{self.literal(shape)}.argsort(dim={self.dim}, stable=True)",
            "l": lambda: self.literal([r.randint(0, 3)], "int64", shape[self.dim]),
            "right": lambda: self.operand(
                r.choice(
                    [
                        shape[-1:],
                        batch + [shape[-1], n],
                        batch + [shape[-1], n],
                        shape[:-2] + [shape[-1], n],
                    ]
                )
            ),
            "left": lambda: self.operand(
                r.choice([shape[-2:][:1], batch + [n, *shape[-2:][:1]], [2, n, *shape[-2:][:1]]])
            ),
            "einsum": self.einsum,
            "bias": lambda: self.operand([n]),
            "weight": lambda: self.operand([n, shape[-1]]),
            "last": lambda: f"({shape[-1]},)",
            "gain": lambda: self.operand(shape[-1:]),
            "ints": lambda: self.literal([n, 2], "int64", 4),
            "targets": lambda: self.literal(shape[:1], "int64", shape[1]),
            "rows": lambda: self.literal([n, 2][: r.randint(1, 2)], "int64", shape[0]),
            "pads": lambda: tuple(r.randint(-1, 2) for _ in range(2 * r.randint(1, 2))),
        }
        return drawn[key]()

    def einsum(self):
        """Returns the arguments of an einsum that fits the rank of the tensor."""
        rule = self.r.choice(
            [
                [",i->i"],
                ["i,i->", "i,j->ij", "i,ij->j"],
                ["ij,jk->ik", "ij,kj->ik", "ij->ji", "ij->i", "ij,ij->", "ij,j"],
                ["bij,bjk->bik", "bij,bkj->bik", "bij,jk->bik", "bij->bji", "...i,ij->...j"],
                ["bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", "bqhd,bkhd->bhqk"],
            ][self.x.dim()]
        )
        sizes = dict(
            zip(rule.replace("...", ""), self.shape if "." not in rule else self.shape[-1:])
        )
        return ", ".join(
            [repr(rule), self.text]
            + [
                self.operand([sizes.get(letter, self.n) for letter in other])
                for other in rule.split("->")[0].split(",")[1:]
            ]
        )


def factors(count, shape):
    """Returns some shapes of so many numbers, some with -1, one that does not fit."""
    pairs = [[a, count // a] for a in (1, 2, 3, 4, 6, 8) if count and count % a == 0]
    return (
        pairs
        + [[a, -1] for a, _ in pairs]
        + [[-1], shape[::-1], shape + [1], [1] + shape, [count + 1]]
    )


def sensible(value):
    """Returns whether a tensor is small, and whether its whole numbers are (nan as a whole number is a matter of the machine)."""
    return value.numel() < 300 and (
        value.is_floating_point() or all(abs(number) < 2**31 - 1 for number in flat(value.tolist()))
    )


def fresh(module):
    """Returns the names that a program starts with."""
    return {
        "torch": module,
        "F": getattr(getattr(module, "nn", None), "functional", None),
        "inf": math.inf,
        "nan": math.nan,
    }


def text_of(error):
    """Returns the type and the first line of an error."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def attempt(line, names):
    """Runs a line; returns the type and the first line of its error, or an empty text."""
    try:
        exec(line, names)
    except NOT_IN_PAGE:
        return "NotInPage"
    except Exception as error:
        return text_of(error)
    return ""


def seen(look, value):
    """Returns what is seen of a value, or the text of the error that the look ends in."""
    try:
        return look(value)
    except Exception as error:
        return text_of(error)


def tensors_in(names):
    """Returns the real tensors that an operation may use, as pairs of text and tensor; the newest is the last one."""
    found = []
    for name, value in names.items():
        if name[0] in "xyw":
            found += (
                [(name, value)]
                if not isinstance(value, tuple)
                else [(f"{name}[{i}]", part) for i, part in enumerate(value)]
            )
    return [(name, value) for name, value in found if isinstance(value, real.Tensor)]


def flat(value):
    """Returns the numbers of nested lists as one list."""
    return (
        [number for part in value for number in flat(part)]
        if isinstance(value, (list, tuple))
        else [value]
    )
