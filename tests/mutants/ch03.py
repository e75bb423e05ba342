"""Right and plausibly wrong answers to the exercises of chapter 3."""

import cmath
import math

import torch
from mutation import mutant, solution

BLIND, SINES, CONFUSED, ROTATE, ROTARY = (
    f"positions.{name}" for name in ("order_blind", "sinusoidal", "confused", "rotate", "rotary")
)


# 3.1 order_blind


@solution(BLIND)
def blind(f, x, order):
    return torch.allclose(f(x[order]), f(x)[order])


@solution(BLIND)
def _(f, x, order):
    return bool((f(x[order])[order.argsort()] - f(x)).abs().max() < 1e-6)


@mutant(BLIND, "expects the outputs to stay", "The outputs move with the inputs")
def _(f, x, order):
    return torch.allclose(f(x[order]), f(x))


@mutant(BLIND, "permutes once more where it should undo", "The outputs move with the inputs")
def _(f, x, order):
    return torch.allclose(f(x[order])[order], f(x))


@mutant(BLIND, "compares bit by bit", "round differently")
def _(f, x, order):
    return torch.equal(f(x[order]), f(x)[order])


@mutant(BLIND, "compares sums", "compare row by row")
def _(f, x, order):
    return torch.allclose(f(x[order]).sum(0), f(x).sum(0))


@mutant(BLIND, "looks at the first row only", "not the first alone")
def _(f, x, order):
    return torch.allclose(f(x[order])[0], f(x)[order][0])


@mutant(BLIND, "permutes the columns", "permutes the rows")
def _(f, x, order):
    return torch.allclose(f(x[:, order]), f(x)[:, order])


@mutant(BLIND, "says True whatever happens", "True whatever `f` is")
def _(f, x, order):
    return f(x[order]).shape == f(x)[order].shape


@mutant(BLIND, "permutes nothing", "True whatever `f` is")
def _(f, x, order):
    return torch.allclose(f(x)[order], f(x)[order])


@mutant(BLIND, "answers the opposite question", "True and False are swapped")
def _(f, x, order):
    return not blind(f, x, order)


@mutant(BLIND, "returns a table of booleans", "is a bool tensor of shape")
def _(f, x, order):
    return f(x[order]) == f(x)[order]


# 3.2 sinusoidal


def waves(T, C, frequency, start=0):
    t = torch.arange(start, start + T)[:, None]
    i = torch.arange(C // 2)
    return (t * frequency(i, C)).sin(), (t * frequency(i, C)).cos()


def right(i, C):
    return 1 / 10_000 ** (2 * i / C)


def pairs(a, b):
    return torch.stack((a, b), dim=2).flatten(1)


@solution(SINES)
def _(T, d_model):
    return pairs(*waves(T, d_model, right))


@solution(SINES)
def _(T, d_model):
    table = torch.zeros(T, d_model, dtype=torch.float64)
    for t in range(T):
        for c in range(d_model):
            angle = t / 10_000 ** (2 * (c // 2) / d_model)
            table[t, c] = math.cos(angle) if c % 2 else math.sin(angle)
    return table


@mutant(SINES, "swaps sine and cosine", "the sine comes first")
def _(T, d_model):
    return pairs(*reversed(waves(T, d_model, right)))


@mutant(SINES, "puts all sines before all cosines", "they alternate")
def _(T, d_model):
    return torch.cat(waves(T, d_model, right), dim=1)


@mutant(SINES, "counts positions from 1", "Positions start at 0")
def _(T, d_model):
    return pairs(*waves(T, d_model, right, start=1))


@mutant(SINES, "doubles the exponent, one for each pair", "twice too large")
def _(T, d_model):
    return pairs(*waves(T, d_model, lambda i, C: 1 / 10_000 ** (4 * i / C)))


@mutant(SINES, "doubles the exponent, one for each column", "differ in frequency")
def _(T, d_model):
    angles = torch.arange(T)[:, None] / 10_000 ** (2 * torch.arange(d_model) / d_model)
    return pairs(angles[:, 0::2].sin(), angles[:, 1::2].cos())


@mutant(SINES, "gives each column its own frequency", "differ in frequency")
def _(T, d_model):
    angles = torch.arange(T)[:, None] / 10_000 ** (torch.arange(d_model) / d_model)
    return pairs(angles[:, 0::2].sin(), angles[:, 1::2].cos())


@mutant(SINES, "forgets the 2 of 2i", "half as large")
def _(T, d_model):
    return pairs(*waves(T, d_model, lambda i, C: 1 / 10_000 ** (i / C)))


@mutant(SINES, "takes 1,000 for 10,000", "1,000, not 10,000")
def _(T, d_model):
    return pairs(*waves(T, d_model, lambda i, C: 1 / 1_000 ** (2 * i / C)))


@mutant(SINES, "multiplies by the power", "divide by it")
def _(T, d_model):
    return pairs(*waves(T, d_model, lambda i, C: 10_000 ** (2 * i.double() / C)))


@mutant(SINES, "divides whole numbers, which leaves exponent 0", "the same frequency")
def _(T, d_model):
    return pairs(*waves(T, d_model, lambda i, C: 1 / 10_000 ** (2 * i // C)))


@mutant(SINES, "takes the sine twice", "no cosine")
def _(T, d_model):
    sin, _ = waves(T, d_model, right)
    return pairs(sin, sin)


@mutant(SINES, "returns a column for each position", "expected")
def _(T, d_model):
    return pairs(*waves(T, d_model, right)).T


# 3.3 confused


@solution(CONFUSED)
def _(encoding):
    gaps = torch.cdist(encoding, encoding).fill_diagonal_(math.inf)
    return divmod(gaps.argmin().item(), len(encoding))


@solution(CONFUSED)
def _(encoding):
    T = len(encoding)
    for i in range(T):
        for j in range(i):
            if torch.allclose(encoding[i], encoding[j], atol=1e-6):
                return i, j


@mutant(CONFUSED, "finds a position equal to itself", "leave the diagonal out")
def _(encoding):
    return divmod(torch.cdist(encoding, encoding).argmin().item(), len(encoding))


@mutant(CONFUSED, "takes neighbours", "can tell them")
def _(encoding):
    return 0, 1


@mutant(CONFUSED, "takes the first and the last", "can tell them")
def _(encoding):
    return 0, len(encoding) - 1


@mutant(CONFUSED, "takes the farthest pair", "can tell them")
def _(encoding):
    return divmod(torch.cdist(encoding, encoding).argmax().item(), len(encoding))


@mutant(CONFUSED, "returns a place in the flattened table", "is an int, but a tuple")
def _(encoding):
    return torch.cdist(encoding, encoding).fill_diagonal_(9).argmin().item()


@mutant(CONFUSED, "returns the rows", "but an int")
def _(encoding):
    return encoding[0], encoding[12 % len(encoding)]


@mutant(CONFUSED, "compares bit by bit and finds nothing", "is the `return` missing?")
def _(encoding):
    for i in range(len(encoding)):
        for j in range(i):
            if torch.equal(encoding[i], encoding[j]):
                return i, j


@mutant(CONFUSED, "looks at the first column only", "can tell them")
def _(encoding):
    gaps = torch.cdist(encoding[:, :1], encoding[:, :1]).fill_diagonal_(9)
    return divmod((gaps < 1e-6).int().argmax().item(), len(encoding))


@mutant(CONFUSED, "looks past the end", "positions run from 0")
def _(encoding):
    return 0, 12 if len(encoding) > 12 else len(encoding)


# 3.4 rotate


@solution(ROTATE)
def _(pair, angle):
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]]) @ pair


@solution(ROTATE)
def _(pair, angle):
    z = complex(*pair.tolist()) * cmath.exp(1j * angle)
    return torch.tensor([z.real, z.imag])


def matrix(pair, *rows):
    return torch.tensor(rows) @ pair


@mutant(ROTATE, "turns clockwise", "turns clockwise")
def _(pair, angle):
    c, s = math.cos(angle), math.sin(angle)
    return matrix(pair, [c, s], [-s, c])


@mutant(ROTATE, "takes degrees", "not degrees")
def _(pair, angle):
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return matrix(pair, [c, -s], [s, c])


@mutant(ROTATE, "overwrites the first number too early", "needs the old one")
def _(pair, angle):
    a, b = pair
    a = a * math.cos(angle) - b * math.sin(angle)
    b = a * math.sin(angle) + b * math.cos(angle)
    return torch.stack((a, b))


@mutant(ROTATE, "swaps the two numbers", "are swapped")
def _(pair, angle):
    c, s = math.cos(angle), math.sin(angle)
    return matrix(pair, [s, c], [c, -s])


@mutant(ROTATE, "forgets the minus", "Both signs are plus")
def _(pair, angle):
    c, s = math.cos(angle), math.sin(angle)
    return matrix(pair, [c, s], [s, c])


@mutant(ROTATE, "scales each number by itself", "made of both old ones")
def _(pair, angle):
    return pair * torch.tensor([math.cos(angle), math.sin(angle)])


@mutant(ROTATE, "adds the angle", "expected")
def _(pair, angle):
    return pair + angle


@mutant(ROTATE, "returns plain numbers", "is a tuple, but")
def _(pair, angle):
    return tuple(pair.tolist())


# 3.5 rotary


def turned(x, frequency=right, start=0, halves=False):
    T, D = x.shape
    a, b = x.chunk(2, dim=1) if halves else (x[:, 0::2], x[:, 1::2])
    sin, cos = waves(T, D, frequency, start)
    return a * cos - b * sin, a * sin + b * cos


@solution(ROTARY)
def _(x):
    return pairs(*turned(x))


@solution(ROTARY)
def _(x):
    T, D = x.shape
    z = torch.view_as_complex(x.view(T, D // 2, 2).contiguous())
    angles = torch.outer(torch.arange(T), right(torch.arange(D // 2), D)).double()
    return torch.view_as_real(z * torch.polar(torch.ones_like(angles), angles)).flatten(1)


@mutant(ROTARY, "pairs channel i with i + D/2", "here neighbours turn")
def _(x):
    return torch.cat(turned(x, halves=True), dim=1)


@mutant(ROTARY, "leaves the halves apart", "not put side by side again")
def _(x):
    return torch.cat(turned(x), dim=1)


@mutant(ROTARY, "turns clockwise", "turns clockwise")
def _(x):
    return pairs(*turned(x, lambda i, D: -right(i, D)))


@mutant(ROTARY, "counts positions from 1", "the first row does not turn")
def _(x):
    return pairs(*turned(x, start=1))


@mutant(ROTARY, "adds the waves", "The waves are added")
def _(x):
    return x + pairs(*waves(*x.shape, right))


@mutant(ROTARY, "multiplies by the waves", "does not turn a pair")
def _(x):
    return x * pairs(*waves(*x.shape, right))


@mutant(ROTARY, "turns all pairs alike", "the same frequency")
def _(x):
    return pairs(*turned(x, lambda i, D: torch.ones_like(i)))


@mutant(ROTARY, "doubles the exponent", "twice too large")
def _(x):
    return pairs(*turned(x, lambda i, D: right(2 * i, D)))


@mutant(ROTARY, "forgets the 2 of 2i", "half as large")
def _(x):
    return pairs(*turned(x, lambda i, D: right(i / 2, D)))


@mutant(ROTARY, "takes 1,000 for 10,000", "1,000, not 10,000")
def _(x):
    return pairs(*turned(x, lambda i, D: 1 / 1_000 ** (2 * i / D)))


@mutant(ROTARY, "returns x", "Nothing has moved")
def _(x):
    return x


@mutant(ROTARY, "drops the second of each pair", "but (5, 8) is expected")
def _(x):
    return turned(x)[0]
