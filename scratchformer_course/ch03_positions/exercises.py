"""The exercises of chapter 3, positions."""

import cmath
import math

import torch
import torch.nn.functional as F
from torch import nn

from scratchformer_course.kit.checks.engine import alike, exercise, mistake, refused
from scratchformer_course.kit.checks.question import number


def _waves(T, C, exponent=2, base=10_000, start=0):
    """Sines and cosines, each (T, C/2), of position / base ** (exponent * i / C) for pair i."""
    positions = torch.arange(start, start + T).unsqueeze(1)
    angles = positions * base ** (-exponent * torch.arange(C // 2) / C)
    return angles.sin(), angles.cos()


def _pairs(a, b):
    """Two (T, C/2) tables as one (T, C), column by column in turn."""
    return torch.stack((a, b), dim=-1).flatten(-2)


def right_sinusoidal(T, d_model):
    return _pairs(*_waves(T, d_model))


def entry_by_entry(T, d_model):
    table = torch.zeros(T, d_model, dtype=torch.float64)
    for t in range(T):
        for c in range(d_model):
            angle = t / 10_000 ** (2 * (c // 2) / d_model)
            table[t, c] = math.cos(angle) if c % 2 else math.sin(angle)
    return table


def by_cosines_alone(T, d_model):
    c = torch.arange(d_model)
    angles = torch.arange(T).unsqueeze(1) / 10_000 ** (c // 2 * 2 / d_model)
    return (angles - (c + 1) % 2 * math.pi / 2).cos()  # the sine is a cosine, late by a quarter


def swaps_sine_and_cosine(T, d_model):
    sin, cos = _waves(T, d_model)
    return _pairs(cos, sin)


def a_frequency_a_column(T, d_model):
    sin, cos = _waves(T, 2 * d_model)  # a frequency for each column
    return _pairs(sin[:, 0::2], cos[:, 1::2])


def twice_the_exponent(T, d_model):
    sin, cos = _waves(T, 2 * d_model, exponent=4)
    return _pairs(sin[:, 0::2], cos[:, 1::2])


def takes_the_sine_twice(T, d_model):
    sin, _ = _waves(T, d_model)
    return _pairs(sin, sin)


sinusoidal = exercise(
    "3.1",
    "sinusoidal(T, d_model) -> (T, C), sine and cosine of a hand side by side",
    cases=((2, 4), (3, 6), (5, 8), (1, 2), (40, 10), (70, 64), (600, 4), (3, 2)),
    right=[right_sinusoidal, entry_by_entry, by_cosines_alone],
    hints=[
        "Which two channels belong to hand `i`, and how fast does it turn?",
        "`angles = torch.arange(T).unsqueeze(1) * speeds` has one column for each hand. "
        "`torch.stack((angles.sin(), ...), dim=2)` puts each sine beside its cosine.",
    ],
    question=number(
        "`d_model` is 4. Which number stands in row 100, channel 2? The sines of 0.01, 1, 10 and "
        "100 are 0.01, 0.84, −0.54 and −0.51, their cosines 1.00, 0.54, −0.84 and 0.86.",
        lambda f: f(101, 4)[100, 2],
    ),
    mistakes=[
        mistake(
            "swaps sine and cosine",
            "Sine and cosine are swapped: the sine comes first",
            swaps_sine_and_cosine,
        ),
        mistake(
            "puts all sines before all cosines",
            "Sines and cosines lie in two halves: they alternate",
            lambda T, d_model: torch.cat(_waves(T, d_model), dim=1),
        ),
        mistake(
            "counts positions from 1",
            "Positions start at 0",
            lambda T, d_model: _pairs(*_waves(T, d_model, start=1)),
        ),
        *alike(
            "Sine and cosine of a pair differ in speed: both take the speed of their hand",
            {
                "gives each column its own frequency": a_frequency_a_column,
                "gives each column its own frequency, with twice the exponent": twice_the_exponent,
            },
        ),
        mistake(
            "doubles the exponent",
            "The exponent is twice too large",
            lambda T, d_model: _pairs(*_waves(T, d_model, exponent=4)),
        ),
        mistake(
            "forgets the 2 of 2i",
            "The exponent is half as large as it should be",
            lambda T, d_model: _pairs(*_waves(T, d_model, exponent=1)),
        ),
        mistake(
            "takes 1,000 for 10,000",
            "The base is 1,000, not 10,000",
            lambda T, d_model: _pairs(*_waves(T, d_model, base=1_000)),
        ),
        mistake(
            "multiplies by the power",
            "The power belongs below: divide by it",
            lambda T, d_model: _pairs(*_waves(T, d_model, exponent=-2)),
        ),
        mistake(
            "divides whole numbers, which leaves the exponent 0",
            "All hands have the same speed",
            lambda T, d_model: _pairs(*_waves(T, d_model, exponent=0)),
        ),
        mistake("takes the sine twice", "There is no cosine", takes_the_sine_twice),
        mistake(
            "returns a column for each position",
            "The table is transposed: a row is a position",
            lambda T, d_model: right_sinusoidal(T, d_model).T,
        ),
    ],
)


def _random_table(T, C):
    return torch.randn(T, C, generator=torch.Generator().manual_seed(T), dtype=torch.float64)


def _products(table, k):
    """The dot products of the rows k apart, (T - k,)."""
    return (table[: len(table) - k] * table[k:]).sum(dim=1)


def _range(values):
    return (values.max() - values.min()).item()


def by_a_loop(table, k):
    products = [float(table[t] @ table[t + k]) for t in range(len(table) - k)]
    return max(products) - min(products)


spread = exercise(
    "3.2",
    "spread(table: (T, C), k) -> float, how far the dot products of rows k apart differ",
    cases=(
        *((_random_table(T, C), k) for T, C, k in ((6, 4, 2), (9, 3, 1), (4, 2, 3))),
        (_random_table(12, 5).abs(), 4),  # all products above 0
        (torch.tensor([[3.0, -1.0], [-1.0, 2.0], [4.0, -1.0], [-5.0, 0.5]]), 1),  # all below
        (_random_table(5, 40).float().T, 3),
        (_random_table(6, 4) + 1, 2),
        (_random_table(7, 1), 1),
    ),
    right=[
        lambda table, k: _range(_products(table, k)),
        by_a_loop,
        lambda table, k: torch.aminmax((table @ table.T).diagonal(k))[1].sub(
            (table @ table.T).diagonal(k).min()
        ),
    ],
    hints=[
        "Which row is the partner of row 0, and which rows have no partner `k` places later?",
        "`(table[:-k] * table[k:]).sum(dim=1)` holds the dot products, and then the largest ...",
    ],
    question=number(
        "The rows of `table` are [4, 0], [0, −2], [2, 1] and [4, −1]. What is `spread(table, 1)`?",
        lambda f: f(torch.tensor([[4.0, 0.0], [0.0, -2.0], [2.0, 1.0], [4.0, -1.0]]), 1),
        digits=0,
    ),
    mistakes=[
        mistake(
            "returns the largest product",
            "This is the largest dot product: subtract the smallest one",
            lambda table, k: _products(table, k).max().item(),
        ),
        mistake(
            "returns the smallest product",
            "This is the smallest dot product: subtract it from the largest one",
            lambda table, k: _products(table, k).min().item(),
        ),
        mistake(
            "subtracts the largest from the smallest",
            "The sign is wrong: the largest minus the smallest",
            lambda table, k: -_range(_products(table, k)),
        ),
        mistake(
            "takes all pairs of places",
            "These are the products of all pairs of rows: only rows k apart belong together",
            lambda table, k: _range(table @ table.T),
        ),
        mistake(
            "goes round at the end",
            "Row 0 does not follow the last row (`roll` goes round): leave the last k rows out",
            lambda table, k: _range((table * table.roll(-k, 0)).sum(dim=1)),
        ),
        mistake(
            "takes rows k + 1 apart",
            "These rows are k + 1 apart",
            lambda table, k: _range(_products(table, k + 1)) if len(table) > k + 1 else 0.0,
        ),
        mistake(
            "multiplies without a sum",
            "A dot product is a sum over the channels: one number for a pair of rows",
            lambda table, k: _range(table[: len(table) - k] * table[k:]),
        ),
        mistake(
            "sums over the places",
            "The sum runs over the places: a dot product is a sum over the channels",
            lambda table, k: _range((table[: len(table) - k] * table[k:]).sum(dim=0)),
        ),
        mistake(
            "measures distances",
            "These are distances between the rows: take their dot products",
            lambda table, k: _range((table[k:] - table[: len(table) - k]).norm(dim=1)),
        ),
        mistake(
            "measures the cosine",
            "The dot products were divided by the lengths of the rows",
            lambda table, k: _range(F.cosine_similarity(table[: len(table) - k], table[k:])),
        ),
        mistake(
            "measures the standard deviation",
            "This is a standard deviation: take the largest minus the smallest product",
            lambda table, k: _products(table, k).std(correction=0).item(),
        ),
        mistake(
            "looks from row 0 only",
            "This compares with row 0 only: go through all pairs of rows k apart",
            lambda table, k: _range(table[k:] @ table[0]),
        ),
        refused(
            "returns all products",
            "is a float64 tensor of shape (4,), but a float",
            lambda table, k: _products(table, k),
        ),
    ],
)


def _matrix(rows):
    return torch.tensor(rows)


def right_turn(k, speed):
    s, c = math.sin(k * speed), math.cos(k * speed)
    return _matrix([[c, s], [-s, c]])


def by_a_complex_number(k, speed):
    z = cmath.exp(1j * k * speed)
    return _matrix([[z.real, z.imag], [-z.imag, z.real]])


def by_solving(k, speed):
    now = torch.tensor([[0.0, math.sin(1)], [1.0, math.cos(1)]], dtype=torch.float64)
    angles = torch.tensor([0.0, 1.0], dtype=torch.float64) + k * speed
    return torch.stack((angles.sin(), angles.cos())) @ now.inverse()


def forgets_a_minus(k, speed):
    s, c = math.sin(k * speed), math.cos(k * speed)
    return _matrix([[c, s], [s, c]])


def swaps_both(k, speed):
    s, c = math.sin(k * speed), math.cos(k * speed)
    return _matrix([[s, c], [c, -s]])


def stretches_only(k, speed):
    s, c = math.sin(k * speed), math.cos(k * speed)
    return _matrix([[s, 0.0], [0.0, c]])


turn = exercise(
    "3.3",
    "turn(k, speed) -> (2, 2), takes (sin, cos) of any place to those of the place k later",
    cases=(
        (2, 0.3),
        (1, 1.0),
        (-3, 0.5),
        (0, 0.7),
        (50, 0.01),
        (7, 1.234),
        (13, 0.0277),
        (7, -0.3),
    ),
    praise="One matrix moves the hand k places on, from every place.",
    right=[right_turn, by_a_complex_number, by_solving],
    hints=[
        "The first formula gives the new sine. Which factor stands before the old sine there, and "
        "which before the old cosine?",
        "With `b = k * speed`, row 0 is `[cos b, sin b]`. Row 1 comes from the second formula, "
        "which has a ...",
    ],
    question=number(
        "Which number stands in row 0, column 1 of `turn(2, 0.5)`? Take sin 1 = 0.84, "
        "cos 1 = 0.54, sin 2 = 0.91, cos 2 = −0.42.",
        lambda f: f(2, 0.5)[0, 1],
    ),
    mistakes=[
        mistake(
            "turns backwards",
            "It turns the other way: look which of the two formulas has the minus",
            lambda k, speed: right_turn(-k, speed),
        ),
        mistake(
            "forgets the minus",
            "Both signs are plus: the formula of the cosine has a minus",
            forgets_a_minus,
        ),
        mistake(
            "swaps the rows",
            "The rows are swapped: the sine comes first in the pair",
            lambda k, speed: right_turn(k, speed).flip(0),
        ),
        mistake(
            "swaps sine and cosine",
            "Sine and cosine are swapped: for k = 0 nothing may move",
            swaps_both,
        ),
        mistake(
            "forgets the speed",
            "The angle is k times the speed, not k",
            lambda k, speed: right_turn(k, 1.0),
        ),
        mistake(
            "divides by the speed",
            "The angle is k times the speed: multiply, do not divide",
            lambda k, speed: right_turn(k, 1 / speed),
        ),
        mistake(
            "takes degrees",
            "The angle is in radians, not degrees",
            lambda k, speed: right_turn(k, math.radians(speed)),
        ),
        mistake(
            "stretches where it should turn",
            "The zeros stretch each number by itself: the new sine needs the old cosine too",
            stretches_only,
        ),
        mistake(
            "returns the hand k places on",
            "This is the hand at place k: return the matrix that moves a hand",
            lambda k, speed: _matrix([math.sin(k * speed), math.cos(k * speed)]),
        ),
        mistake(
            "returns four numbers in a row",
            "The four numbers stand in a row: make a matrix of two rows",
            lambda k, speed: right_turn(k, speed).flatten(),
        ),
        refused("returns a list", "is a list, but", lambda k, speed: right_turn(k, speed).tolist()),
    ],
)


def _tables():
    """Cases: fewer tokens than places, as many texts as tokens, a full context, one token."""
    sizes = {"vocab_size": 7, "context_length": 5, "d_model": 4}
    yield sizes, torch.tensor([[1, 1, 4], [6, 0, 1]])
    yield sizes, torch.tensor([[2, 3], [3, 2]])
    yield sizes, torch.tensor([[4, 3, 2, 1, 0]])
    yield {"vocab_size": 3, "context_length": 2, "d_model": 6}, torch.tensor([[2], [0]])
    yield {"vocab_size": 3, "context_length": 2, "d_model": 6}, torch.tensor([[1]])
    ids = torch.tensor([[8, 0, 3, 3, 7, 1, 2], [5, 5, 4, 6, 0, 8, 8], [1, 2, 3, 4, 5, 6, 7]])
    yield {"vocab_size": 9, "context_length": 12, "d_model": 10}, ids


class _TokenAndPosition(nn.Module):
    def __init__(self, vocab_size, context_length, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(context_length, d_model)


class RightTokenAndPosition(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids) + self.position(torch.arange(ids.shape[1]))


class ByIndex(_TokenAndPosition):
    def forward(self, ids):
        return self.token.weight[ids] + self.position.weight[: ids.shape[1]]


class WithPlacesForEachText(_TokenAndPosition):
    def forward(self, ids):
        places = torch.ones_like(ids).cumsum(dim=1) - 1
        return F.embedding(ids, self.token.weight) + self.position(places)


class ForgetsThePositions(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids)


class ForgetsTheTokens(_TokenAndPosition):
    def forward(self, ids):
        return self.position(torch.arange(ids.shape[1])).expand(*ids.shape, -1)


class LooksUpTheIdTwice(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids) + self.position(ids)


class CountsPlacesFrom1(_TokenAndPosition):
    def forward(self, ids):
        places = torch.arange(1, ids.shape[1] + 1)
        return self.token(ids) + self.position(places % self.position.num_embeddings)


class CountsTheTexts(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids) + self.position(torch.arange(len(ids))).unsqueeze(1)


class GivesAllPlacesOneVector(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids) + self.position(torch.zeros_like(ids))


class CountsPlacesFromTheEnd(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids) + self.position(torch.arange(ids.shape[1]).flip(0))


class MultipliesTheTwo(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids) * self.position(torch.arange(ids.shape[1]))


class PutsTheTwoSideBySide(_TokenAndPosition):
    def forward(self, ids):
        places = self.position(torch.arange(ids.shape[1])).expand(*ids.shape, -1)
        return torch.cat((self.token(ids), places), dim=-1)


class SumsOverTheText(_TokenAndPosition):
    def forward(self, ids):
        return (self.token(ids) + self.position(torch.arange(ids.shape[1]))).sum(dim=1)


class CutsThePlacesOff(_TokenAndPosition):
    def forward(self, ids):
        return self.token(ids) + self.position.weight.data[: ids.shape[1]]


class LeavesId0Out(_TokenAndPosition):
    def __init__(self, vocab_size, context_length, d_model):
        super().__init__(vocab_size, context_length, d_model)
        self.token = nn.Embedding(vocab_size, d_model, padding_idx=0)

    def forward(self, ids):
        return self.token(ids) + self.position(torch.arange(ids.shape[1]))


class HasATableOfOtherSizes(nn.Module):
    def __init__(self, vocab_size, context_length, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(vocab_size, d_model)


class CallsItsTablesOtherwise(nn.Module):
    def __init__(self, vocab_size, context_length, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.places = nn.Embedding(context_length, d_model)


def _number_of_id_5(cls):
    module = cls(vocab_size=6, context_length=6, d_model=1)
    steps = torch.arange(6.0).unsqueeze(1)
    module.load_state_dict({"token.weight": 10 * steps, "position.weight": steps + 1})
    ids = torch.tensor([[1, 2, 3, 4, 0], [0, 1, 2, 3, 4], [4, 0, 2, 5, 1]])
    return module(ids)[2, 3].detach()


TokenAndPosition = exercise(
    "3.4",
    "TokenAndPosition(vocab_size, context_length, d_model)(ids: (B, T)) -> (B, T, C)",
    cases=_tables,
    right=[RightTokenAndPosition, ByIndex, WithPlacesForEachText],
    hints=[
        "Which rows of the second table does a text of T tokens need, whatever its ids are?",
        "`self.position(torch.arange(ids.shape[1]))` is (T, C). What is it added to?",
    ],
    question=number(
        "Each row of both tables has one number: row `i` of `token` holds 10 · i, and row `t` of "
        "`position` holds t + 1. A batch holds three texts of five ids, and the last text is "
        "4 0 2 5 1. Which number comes out for its id 5?",
        _number_of_id_5,
        digits=0,
    ),
    mistakes=[
        mistake(
            "forgets the positions",
            "Only the row of the token came back: add the row of its place",
            ForgetsThePositions,
        ),
        mistake(
            "forgets the tokens",
            "Only the row of the place came back: add the row of the token",
            ForgetsTheTokens,
        ),
        mistake(
            "looks up the id in the table of places",
            "The table of places is asked for the token's id: ask for 0, 1, 2, … instead",
            LooksUpTheIdTwice,
        ),
        mistake("counts places from 1", "Places start at 0", CountsPlacesFrom1),
        mistake(
            "counts the texts",
            "The places are counted along the batch: count along each text, `ids.shape[1]`",
            CountsTheTexts,
        ),
        mistake(
            "gives all places one vector", "All places get the same vector", GivesAllPlacesOneVector
        ),
        mistake(
            "counts places from the end",
            "The places run backwards: the first token stands at place 0",
            CountsPlacesFromTheEnd,
        ),
        mistake("multiplies the two", "The two vectors are multiplied: add them", MultipliesTheTwo),
        mistake(
            "puts the two side by side",
            "The two vectors stand side by side: add them, so that the width stays",
            PutsTheTwoSideBySide,
        ),
        mistake(
            "sums over the text",
            "The tokens of a text are summed up: return one vector for each token",
            SumsOverTheText,
        ),
        refused(
            "cuts the places off",
            "no slopes reach `position.weight`: `.data`",
            CutsThePlacesOff,
        ),
        refused("gives id 0 to padding", "no slopes reach row 0 of `token.weight`", LeavesId0Out),
        refused(
            "has a table of another size", "`position.weight` has shape", HasATableOfOtherSizes
        ),
        refused(
            "calls its tables otherwise",
            "the parameter `position.weight` is missing",
            CallsItsTablesOtherwise,
        ),
    ],
)
