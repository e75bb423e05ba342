"""The exercises of chapter 23, thinking."""

import torch

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, integers, normal


def right_advantages(r, group):
    mean = r.view(-1, group).mean(dim=1)  # (N / group,)
    return r - mean.repeat_interleave(group)


def right_vote(answers):
    values, counts = answers.unique(return_counts=True)
    return values[counts.argmax()]


def _rewards(draw):
    group, n = draw.size(2, 4, 12), draw.size(1, 4, 6)
    return normal(draw, group * n, scale=2.0), group


def right_priced(r, length, price):
    return r - price * length


def _priced(draw):
    N = draw.size(1, 6, 40)
    return integers(draw, 2, N).float(), integers(draw, 9, N) + 3.0, draw.choice([0.0, 0.05, 0.3])


priced = exercise(
    "23.1",
    "priced(r: (N,), length: (N,), price) -> (N,), each reward less the price of its tokens",
    cases=((torch.tensor([1.0, 0.0, 1.0]), torch.tensor([11.0, 3.0, 3.0]), 0.05),),
    more=drawn(10, _priced),
    praise="`priced` is right: of two right answers the shorter one now earns more.",
    right=[right_priced],
    hints=[
        "One right answer has 3 tokens, another 11. How much more should the first earn?",
        "Each token costs `price`: take `price` times ... from every reward.",
    ],
    question=number(
        "An answer of 11 tokens is right, and the price is 0.05. What does it earn?",
        lambda f: f(*priced.cases[0])[0],
        digits=2,
    ),
    mistakes={
        "r - price -> r + price": "Long answers earn more: the price is taken off, not added",
        "price * length -> price": "Every answer pays for one token: multiply the price by the "
        "length",
        "price * length -> price * length.mean()": "All answers pay the same, so none has a "
        "reason to be short: each pays for its own tokens",
    },
)


def _votes(draw):
    n = draw.size(1, 9, 60)
    answers = integers(draw, 5, n) + 10
    counts = answers.bincount()
    lead = (counts == counts.max()).nonzero()[0]  # no ties: one more for the first
    return torch.cat([answers, lead])


vote = exercise(
    "23.2",
    "vote(answers: (k,) ids) -> the id that occurs most often",
    cases=(
        torch.tensor([14, 11, 12, 12]),
        torch.tensor([10]),
        torch.tensor([13, 10, 13, 10, 14, 13]),
    ),
    more=drawn(10, _votes, ties=False),
    praise="`vote` is right: it returns what was said most often, not how often.",
    right=[right_vote],
    hints=[
        "Of 4, 1, 2, 2 the vote is 2. Which numbers do you need before you can say so?",
        "`answers.unique(return_counts=True)` gives the different ids and their counts. Return the "
        "id in the place of the largest ...",
    ],
    question=number(
        "Seven answers: 1, 4, 2, 4, 5, 2, 4. What does `vote` return, if the cups' ids are their "
        "numbers?",
        lambda f: f(torch.tensor([1, 4, 2, 4, 5, 2, 4])),
        digits=0,
    ),
    mistakes={
        "values[counts.argmax()] -> values[-1]": "This is the largest id: the counts do not "
        "matter to it",
        "values[counts.argmax()] -> counts.max()": "This is how often the winner was said: "
        "return what was said",
        "values[counts.argmax()] -> values[counts.argmin()]": "This is what was said least often",
        "values[counts.argmax()] -> counts.argmax()": "This is the winner's place among the "
        "different answers: look up the id there",
    },
)


def right_strict(answer, ball):
    return float(answer.endswith(f"= {ball} .") and answer.count("=") == 1)


def _texts(draw):
    cups = [str(draw.randint(1, 5)) for _ in range(draw.size(0, 8, 40))]
    ball, said = str(draw.randint(1, 5)), str(draw.randint(1, 5))
    ending = draw.choice([f"= {ball} .", f"= {said} .", f"{ball} .", f"= {ball}", f"= = {ball} ."])
    middle = draw.choice([[], [], [f"= {said}"]])
    return " ".join([*cups, *middle, ending]), ball


strict = exercise(
    "23.3",
    "strict(answer: str, ball: str) -> 1.0 for a right answer, else 0.0",
    cases=(
        ("1 2 3 4 5 .", "4"),
        ("3 3 4 = 4 .", "4"),
        ("= 4 .", "4"),
        ("4 4 4 = 2 .", "4"),
        ("4 .", "4"),
        ("= 1 = 2 = 3 = 4 .", "4"),
        ("= 4 = 5 .", "4"),
        ("= 4 2 .", "4"),
        ("2 = 3 4 .", "4"),
    ),
    more=drawn(24, _texts, ties=False),
    praise="`strict` is right: an answer that says everything is paid for nothing.",
    right=[right_strict],
    hints=[
        "Which text would be paid in every game, by somebody who has not watched?",
        '`answer.endswith(f"= {ball} .")` asks for the form. How often may "=" ...',
    ],
    question=number(
        "The ball is under cup 4. How many of these five does `strict` pay: `= 4 .`, `= 1 = 4 .`, "
        "`= 2 = 4 .`, `= 4 2 .`, `1 2 3 4 5 .`?",
        lambda f: sum(
            f(text, "4") for text in ("= 4 .", "= 1 = 4 .", "= 2 = 4 .", "= 4 2 .", "1 2 3 4 5 .")
        ),
        digits=0,
    ),
    mistakes={
        'answer.endswith(f"= {ball} .") and answer.count("=") == 1 -> ball in answer': "The leak "
        "is still there: `1 2 3 4 5 .` is paid in every game",
        ' and answer.count("=") == 1 -> ': "An answer that guesses again and again, `= 1 = 2 …`, "
        "is paid if its last guess is right: ask for one `=`",
        'answer.endswith(f"= {ball} .") -> f"= {ball}" in answer': "It is enough to begin well: "
        "the answer must also end there",
        'f"= {ball} ." -> f"{ball} ."': "A cup in front of the end is paid though no `=` says "
        "that it is the answer",
    },
)
