"""The arguments that random programs give to the operations of `operations.txt`.

An operation has names in braces, and WORDS draws a text for each. A digit after a name asks for a
tensor of so many axes: {x2} is a matrix.
"""

import math

from both import flat, tensors_in

DTYPES = ("float32", "float64", "int64", "bool")
# Index letters of einsum, by the number of axes of the first tensor
RULES = (
    (",i->i",),
    ("i,i->", "i,j->ij", "i,ij->j"),
    ("ij,jk->ik", "ij,kj->ik", "ij->ji", "ij->i", "ij,ij->", "ij,j"),
    ("bij,bjk->bik", "bij,bkj->bik", "bij,jk->bik", "bij->bji", "...i,ij->...j"),
    ("bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", "bqhd,bkhd->bhqk"),
)


class Unfit(Exception):
    """The drawn operation has no sensible arguments for the drawn tensor: draw another one."""


def literal(random, shape, dtype="float32", below=None):
    """The text of a tensor: ties, zeros, negatives, at times inf and nan; or integers < below."""
    odd, unit = random.random() < 0.06, random.choice([4, 4, 4, 100])

    def number():
        if dtype == "bool":
            return random.random() < 0.5
        if below is not None:
            return random.randrange(below or 2)
        if odd and dtype[0] == "f" and random.random() < 0.3:
            return random.choice([math.inf, -math.inf, math.nan])
        if dtype[0] == "f":
            return random.randint(-2 * unit, 2 * unit) / unit
        return random.randint(-3, 3)

    def nest(sizes):
        return [nest(sizes[1:]) for _ in range(sizes[0])] if sizes else number()

    # Lists that hold no list cannot tell the sizes of the axes after an empty one.
    made = f"zeros({tuple(shape)}" if 0 in shape[:-1] else f"tensor({nest(list(shape))}"
    return f"torch.{made}, dtype=torch.{dtype})"


def view_shapes(count, shape):
    """Shapes for a view of so many numbers, some with -1, and one that does not fit."""
    pairs = [[a, count // a] for a in (1, 2, 3, 4, 6, 8) if count and count % a == 0]
    open_pairs = [[a, -1] for a, _ in pairs]
    return pairs + open_pairs + [[-1], shape[::-1], shape + [1], [1] + shape, [count + 1]]


class Arguments:
    """The arguments of one operation on one tensor, drawn in the order of their braces.

    Some depend on those before them: `axis` is the last axis that was drawn, `chosen` the last
    index, `places` the shape of the last tensor of places. `extra` are the lines that the
    arguments need before the operation: pairs of a name and a line.
    """

    def __init__(self, random, names, text, tensor, number):
        self.random, self.names, self.number = random, names, number
        self.text, self.tensor = text, tensor
        self.shape, self.dtype = list(tensor.shape), str(tensor.dtype).removeprefix("torch.")
        self.n, self.axis, self.extra = random.randint(1, 3), None, []

    def pick(self, *choices):
        return self.random.choice(choices)

    def between(self, low, high):
        """An integer, both ends included."""
        return self.random.randint(low, high)

    def happens(self, share):
        return self.random.random() < share

    def draw(self, word, rank=""):
        """The text for one name in braces; the shape of a batch is drawn beside each."""
        if rank and int(rank) != self.tensor.dim():
            raise Unfit
        if word == "untied" and self.has_ties():
            raise Unfit
        if word in ("i", "iset"):
            self.chosen = self.index(unique=word == "iset")
            return self.chosen
        if word == "u":
            self.places = self.shape
        if word == "g":
            self.places = self.resized(self.between(0, self.shape[self.axis]))
        self.batch = [self.pick(size, 1) for size in self.shape[:-2]][self.between(0, 2) :]
        return str(WORDS[word](self))

    def has_ties(self):
        return len(set(map(str, flat(self.tensor.tolist())))) < self.tensor.numel()

    def literal(self, shape, dtype="float32", below=None):
        return literal(self.random, shape, dtype, below)

    def operand(self, shape):
        """The text of another tensor of this shape, perhaps a view, perhaps with a slope."""
        dtype = self.dtype if self.happens(0.85) else self.pick(*DTYPES)
        if len(shape) > 1 and self.happens(0.15):
            turned = [*shape[:-2], shape[-1], shape[-2]]
            text = self.literal(turned, dtype) + ".transpose(-2, -1)"
        else:
            text = self.literal(shape, dtype)
        if dtype[0] != "f" or self.happens(0.5):
            return text
        name = f"w{self.number + len(self.extra)}"
        self.extra.append((name, f"{name} = {text}.requires_grad_()"))
        return name

    def broadcast(self, shape, grow=False):
        """A shape that broadcasts with this one (now and then it does not)."""
        sizes = [self.random.choices([s, 1, s + 1], [72, 25, 3])[0] for s in shape]
        sizes = sizes[self.pick(0, 0, 0, 1, 2) :]
        return [2] + sizes if grow and len(sizes) == len(shape) < 4 and self.happens(0.1) else sizes

    def any_axis(self, extra=0):
        """An axis, negative or not, now and then beyond the last one."""
        rank = max(1, self.tensor.dim() + extra)
        self.axis = self.random.randrange(-rank, rank) if self.happens(0.98) else rank
        return self.axis

    def axes(self):
        """Some axes, none of them twice."""
        rank = self.tensor.dim()
        return tuple(self.random.sample(range(rank), self.between(1, rank))) if rank else -1

    def resized(self, size):
        """The shape with another size along the axis that was drawn last."""
        shape = list(self.shape)
        shape[self.axis] = size
        return shape

    def with_any_axis(self, made):
        """What is made of an axis that a later argument names."""
        self.any_axis()
        return made()

    def two_sizes(self):
        """The sizes of two parts along the axis that was drawn last."""
        first = self.between(0, self.shape[self.axis])
        return [first, self.shape[self.axis] - first]

    def index(self, unique):
        """The text of an index: integers, slices, None, `...`, lists, tensors of either kind."""
        parts, length = [], self.between(1, 2)
        for size in self.shape[: self.between(0, 4)]:
            rows = self.random.sample(range(-size, 0), length) if size >= length else []
            if unique:
                rows = [row + size * self.between(0, 1) for row in rows]
            else:
                rows = [self.pick(*rows) for _ in rows]
            cut = self.pick(":", "1:", ":-1", "::2", "-2:", ":2", "1:3")
            parts += ["None"] * self.happens(0.1)
            is_first = "[" not in str(parts)[1:]  # one mask or list at most
            choices = [
                *(cut, cut, self.pick(*(rows or [size])), rows or cut),
                f"torch.tensor({rows or [size]})",
                self.literal([size], "bool") if is_first else cut,
            ]
            parts.append(self.pick(*choices))
        return ", ".join(map(str, parts + ["..."] * (not parts or self.happens(0.2))))

    def einsum(self):
        """The arguments of an einsum that fits the number of axes."""
        rule = self.pick(*RULES[self.tensor.dim()])
        shape = self.shape[-1:] if "." in rule else self.shape
        sizes = dict(zip(rule.replace("...", ""), shape, strict=False))
        others = [
            self.operand([sizes.get(letter, self.n) for letter in letters])
            for letters in rule.split("->")[0].split(",")[1:]
        ]
        return ", ".join([repr(rule), self.text, *others])


WORDS = {
    # the tensor itself, and numbers
    "x": lambda a: a.text,
    "untied": lambda a: a.text,
    "n": lambda a: a.n,
    "q": lambda a: a.between(-2, 2),
    "s": lambda a: a.pick("2", "-1", "0.5", "0", "3", "1e-3", "-inf", "True"),
    "low": lambda a: a.pick("-0.5", "0", "-1"),
    "power": lambda a: a.pick("2", "3", "0.5", "-1", "0", a.operand(a.broadcast(a.shape))),
    # another tensor
    "t": lambda a: a.operand(a.broadcast(a.shape, grow=True)),
    "same": lambda a: a.operand(a.shape),
    "o": lambda a: a.pick(a.draw("s"), a.draw("t"), a.draw("t"), a.pick(*tensors_in(a.names))[0]),
    "w": lambda a: a.pick(
        a.draw("s"), a.literal(a.broadcast(a.shape)), a.operand(a.broadcast(a.shape))
    ),
    "like": lambda a: a.with_any_axis(lambda: a.operand(a.resized(a.between(0, 3)))),
    "bias": lambda a: a.operand([a.n]),
    "weight": lambda a: a.operand([a.n, a.shape[-1]]),
    "gain": lambda a: a.operand(a.shape[-1:]),
    "right": lambda a: a.operand(
        a.pick(
            a.shape[-1:],
            *(a.batch + [a.shape[-1], a.n], a.batch + [a.shape[-1], a.n]),
            a.shape[:-2] + [a.shape[-1], a.n],
        )
    ),
    "left": lambda a: a.operand(
        a.pick(a.shape[-2:][:1], a.batch + [a.n, *a.shape[-2:][:1]], [2, a.n, *a.shape[-2:][:1]])
    ),
    "einsum": Arguments.einsum,
    # axes
    "d": Arguments.any_axis,
    "dnew": lambda a: a.any_axis(1),
    "dd": lambda a: a.axis,
    "D": lambda a: a.pick(a.any_axis(), a.axes()),
    "k": lambda a: a.pick("", ", keepdim=True"),
    "few": lambda a: a.with_any_axis(lambda: a.between(0, a.shape[a.axis])),
    # shapes and sizes
    "sizes": Arguments.two_sizes,
    "shape": lambda a: a.pick(*view_shapes(a.tensor.numel(), a.shape)),
    "perm": lambda a: a.random.sample(range(a.tensor.dim()), a.tensor.dim()),
    "wide": lambda a: [2] * a.between(0, 1) + [s if s != 1 else a.between(1, 3) for s in a.shape],
    "last": lambda a: f"({a.shape[-1]},)",
    "times": lambda a: [a.between(1, 2) for _ in range(a.tensor.dim() + a.between(0, 1))],
    "pads": lambda a: tuple(a.between(-1, 2) for _ in range(2 * a.between(1, 2))),
    # masks, places and what stands there
    "cond": lambda a: a.pick(
        a.literal(a.broadcast(a.shape, grow=True), "bool"), f"{a.text} > 0.25"
    ),
    "mask": lambda a: a.pick(a.literal(a.shape[: a.between(1, 4)], "bool"), f"{a.text} > 0.25"),
    "v": lambda a: a.operand(a.broadcast(eval(f"{a.text}[{a.chosen}]", a.names).shape)),
    "g": lambda a: a.literal(a.places, "int64", a.shape[a.axis]),
    "u": lambda a: f"{a.literal(a.shape)}.argsort(dim={a.axis}, stable=True)",
    "src": lambda a: a.operand(a.places),
    "l": lambda a: a.literal([a.between(0, 3)], "int64", a.shape[a.axis]),
    "ints": lambda a: a.literal([a.n, 2], "int64", 4),
    "targets": lambda a: a.literal(a.shape[:1], "int64", a.shape[1]),
    "rows": lambda a: a.literal([a.n, 2][: a.between(1, 2)], "int64", a.shape[0]),
}
