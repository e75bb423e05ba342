"""Random programs of plain `torch` code, for random_expressions.py.

A program has one to three input tensors (0 to 4 axes of size 0 to 4, contiguous or not), and then
one to four of the operations that stand in `operations.txt`.
"""

import random
import re
from pathlib import Path

from arguments import DTYPES, Arguments, Unfit, literal
from both import Step, attempt, flat, fresh, real, tensors_in

OPERATIONS = Path(__file__).with_name("operations.txt").read_text(encoding="utf-8").splitlines()


class Program:
    """The steps of a random program, and the names of PyTorch's values after them."""

    def __init__(self, seed):
        self.random, self.steps = random.Random(seed), []
        for number in range(self.random.choice([1, 1, 2, 3])):
            self.add_input(f"x{number}")
        for number in range(self.random.choice([1, 2, 2, 3, 3, 4])):
            if not self.add_operation(f"y{number}"):
                break

    def add_input(self, name):
        """Add an input: contiguous or a view, and then either the view of a leaf or the leaf."""
        rank = self.random.choices(range(5), [8, 20, 36, 26, 10])[0]
        shape = self.random.choices(range(5), [3, 15, 30, 32, 20], k=rank)
        dtype = self.random.choices(DTYPES, [70, 8, 14, 8])[0]
        has_slope = dtype[0] == "f" and self.random.random() < 0.75
        view = self.view_of(shape) if shape and self.random.random() < 0.4 else ""
        if has_slope and view and self.random.random() < 0.5:
            leaf = f"leaf_{name}"
            text = literal(self.random, shape, dtype)
            self.run(Step("input", f"{leaf} = {text}.requires_grad_()", leaf))
            self.run(Step("input", f"{name} = {leaf}{view}", name))
        else:
            text = literal(self.random, shape, dtype) + view + ".requires_grad_()" * has_slope
            self.run(Step("input", f"{name} = {text}", name))

    def view_of(self, shape):
        """The text of a view of this shape, which becomes the shape that the view is taken of."""
        a, b = self.random.randrange(len(shape)), self.random.randrange(len(shape))
        kind = self.random.randrange(3)
        cut = self.random.choice(["::2", "1::2", f"{shape[a]}:"])
        view = [f".transpose({a}, {b})", f"[{':, ' * a}{cut}]", f".expand({shape})"][kind]
        if kind == 0:
            shape[a], shape[b] = shape[b], shape[a]
        else:
            shape[a] = 2 * shape[a] if kind == 1 else 1
        return view

    def run(self, *steps):
        """Add steps and run all with PyTorch; the words of the last one's error, or none."""
        self.steps += steps
        self.names = fresh(real)
        return [attempt(step.line, self.names) for step in self.steps][-1]

    def drawn(self, name):
        """An operation with its arguments, as steps; none if they do not fit the tensor."""
        tensors = tensors_in(self.names)
        newest = self.random.random() < 0.75
        text, tensor = tensors[-1] if newest else self.random.choice(tensors)
        arguments = Arguments(self.random, self.names, text, tensor, len(self.steps))
        operation = self.random.choice(OPERATIONS)
        try:
            word = re.compile(r"\{([a-zA-Z]+)(\d?)\}")
            code = word.sub(lambda found: arguments.draw(*found.groups()), operation)
        except (Unfit, IndexError):
            return []
        if operation in ("{x} += {w}", "{x} *= {w}") and "[" in text:
            return []  # a part of a tuple cannot be assigned
        extra = [Step("input", line, name) for name, line in arguments.extra]
        if re.search(r" [+*]?= ", operation):
            return [*extra, Step(operation, code, text)]
        return [*extra, Step(operation, f"{name} = {code}", name)]

    def add_operation(self, name):
        """Draw operations until one is fit; whether the program may go on after it."""
        while True:
            if not (steps := self.drawn(name)):
                continue
            before = len(self.steps)
            error = self.run(*steps)
            is_plain = ".cpp" not in error and "INTERNAL" not in error
            if error and is_plain and self.random.random() < 0.12:
                return False
            if not error and all(is_sensible(tensor) for _, tensor in tensors_in(self.names)):
                return True
            del self.steps[before:]
            self.run()


def is_sensible(tensor):
    """Whether a tensor is small, and its integers are: nan as an integer depends on the machine."""
    if tensor.numel() >= 300 or tensor.is_floating_point():
        return tensor.numel() < 300
    return all(abs(number) < 2**31 - 1 for number in flat(tensor.tolist()))
