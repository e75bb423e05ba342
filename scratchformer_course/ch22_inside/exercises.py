"""The exercises of chapter 22, inside."""

import torch
from torch.nn import functional as F

from scratchformer_course.ch22_inside.songs import NOTES, heard, songs
from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong


def _normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _classes(seed, n):
    return torch.randint(6, (n,), generator=torch.Generator().manual_seed(seed))


def _probed():
    return (
        (_normal(0, 30, 4) + 1, _classes(0, 30), _normal(1, 30, 4), 1.0),
        (_normal(2, 40, 3) - 2, _classes(1, 40), _normal(3, 40, 3), 5.0),
        (_normal(4, 12, 2) + 1, _classes(2, 12), _normal(5, 3, 2), 0.1),
        (_normal(6, 3, 5), _classes(3, 3), _normal(7, 1, 5), 2.0),
    )


def _learned(draw):
    N, C, M = draw.randint(1, 20), draw.randint(1, 5), draw.randint(1, 4)
    x = normal(draw, N, C) + draw.choice([-1, 0, 2])
    return (
        x,
        integers(draw, draw.randint(1, 6), N),
        normal(draw, M, C),
        draw.choice([0.3, 1.0, 20.0]),
    )


def without_bias(x, y, new, ridge):
    a = x.T @ x + ridge * torch.eye(x.shape[1])
    return new @ torch.linalg.solve(a, x.T @ F.one_hot(y, 6).float())


def right_probe(x, y, new, ridge):
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=1.0)
    return without_bias(x, y, new, ridge)


def probe_by_kernel(x, y, new, ridge):
    """The same from the products of the vectors among themselves."""
    near = x @ x.T + 1 + ridge * torch.eye(len(x))
    return (new @ x.T + 1) @ torch.linalg.solve(near, F.one_hot(y, 6).float())


def without_ridge(x, y, new, ridge):
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=1.0)
    return new @ torch.linalg.pinv(x) @ F.one_hot(y, 6).float()


probe = exercise(
    "22.1",
    "probe(x: (N, C), y: (N,), new: (M, C), ridge) -> (M, 6), scores of new vectors",
    cases=_probed,
    more=drawn(10, _learned),
    praise="`probe` is right: it learns from `x`, and scores what it has not seen.",
    right=[right_probe, probe_by_kernel],
    hints=[
        "What must stand at the end of each vector, so that one of its weights can be a bias?",
        "With a 1 behind each row of x and of new, and one-hot targets t, the weights are "
        "`torch.linalg.solve(x.T @ x + ridge * torch.eye(C + 1), x.T @ t)`, and the scores are ...",
    ],
    question=number(
        "The vectors have one number each: 1, of class 0, and −1, of class 1. With ridge = 1, what "
        "is the score of class 0 for the new vector 3?",
        lambda f: f(
            torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]), torch.tensor([[3.0]]), 1.0
        )[0, 0],
        digits=2,
    ),
    mistakes=[
        mistake(
            "has no bias",
            "The bias is missing: put a 1 behind each vector, in x and in new",
            without_bias,
        ),
        mistake(
            "has no ridge",
            "The ridge is missing: without it, a few vectors of many numbers fit any classes",
            without_ridge,
        ),
        mistake(
            "scores the training rows",
            "These are the scores of x, from which the probe has learned: score new",
            lambda x, y, new, ridge: right_probe(x, y, x, ridge),
        ),
        mistake(
            "returns chances",
            "A softmax has made chances of the scores: return the scores themselves",
            lambda x, y, new, ridge: right_probe(x, y, new, ridge).softmax(dim=1),
        ),
    ],
)


def _erased():
    return (
        (_normal(0, 5, 4), _normal(1, 2, 4)),
        (_normal(2, 3, 6), _normal(3, 1, 6)),
        (_normal(4, 4, 8), _normal(5, 5, 8)),
        (_normal(6, 4, 3), torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0]])),
        (_normal(7, 3, 5), _normal(8, 2, 5) / 1000),
    )


def _spanned(draw):
    """Directions of any length, of which two may be nearly the same."""
    C = draw.randint(3, 8)
    directions = normal(draw, draw.randint(1, C - 1), C)
    if len(directions) > 1:
        directions[1] = directions[0] + draw.choice([0.03, 0.3, 1.0]) * directions[1]
    size = draw.choice([0.01, 1.0, 40.0])
    return normal(draw, draw.randint(1, 4), C), size * directions


def right_erase(x, directions):
    q = torch.linalg.qr(directions.T).Q
    return x - x @ q @ q.T


def erase_by_pseudo_inverse(x, directions):
    return x - x @ torch.linalg.pinv(directions) @ directions


def one_after_the_other(x, directions):
    for direction in F.normalize(directions, dim=1):
        x = x - (x @ direction)[:, None] * direction
    return x


def only_normalised(x, directions):
    unit = F.normalize(directions, dim=1)
    return x - x @ unit.T @ unit


erase = exercise(
    "22.2",
    "erase(x: (N, C), directions: (K, C), none made of others) -> (N, C), x without its part along "
    "them",
    cases=_erased,
    more=drawn(12, _spanned),
    praise="`erase` is right: what it returns has a product of 0 with each direction.",
    right=[right_erase, erase_by_pseudo_inverse],
    hints=[
        "If two directions are nearly the same, how often should their common part be removed?",
        "The columns of `q = torch.linalg.qr(directions.T).Q` have length 1, are at right angles "
        "and span the same space. `x @ q` says how far x goes along each of them, so the part to "
        "remove is ...",
    ],
    question=number(
        "x is (3, 4, 5), and the directions are (1, 0, 0) and (1, 1, 0). What is the first number "
        "of the result?",
        lambda f: f(
            torch.tensor([[3.0, 4.0, 5.0]]), torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
        )[0, 0],
        digits=1,
    ),
    mistakes=[
        mistake(
            "neither normalises nor orthogonalises",
            "The directions are used as they are: they must have length 1, and stand at right "
            "angles to each other",
            lambda x, directions: x - x @ directions.T @ directions,
        ),
        mistake(
            "only normalises",
            "The directions have length 1 here, but are not at right angles: what two of them "
            "share is removed twice",
            only_normalised,
        ),
        mistake(
            "erases one after the other",
            "Each direction is erased in turn, and the later ones bring back some of the earlier "
            "ones, because they are not at right angles",
            one_after_the_other,
        ),
        mistake(
            "returns what should go",
            "This is the part along the directions: subtract it from x",
            lambda x, directions: x - right_erase(x, directions),
        ),
    ],
)


def _patched():
    return (
        (_normal(0, 3, 5, 4), _normal(1, 3, 5, 4), 2),
        (_normal(2, 2, 4, 4), _normal(3, 2, 4, 4), 1),
        (_normal(4, 4, 6, 6), _normal(5, 4, 6, 6), 3),
        (_normal(6, 1, 3, 2), _normal(7, 1, 3, 2), 0),
    )


def _places(draw):
    B, T, C = (draw.randint(1, 5) for _ in range(3))
    return normal(draw, B, T, C), normal(draw, B, T, C), draw.randrange(T)


def right_patch(x, source, place):
    x = x.clone()
    x[:, place] = source[:, place]
    return x


def patch_by_where(x, source, place):
    at_place = torch.arange(x.shape[1]) == place
    return torch.where(at_place[:, None], source, x)


patch = exercise(
    "22.3",
    "patch(x, source: (B, T, C), place) -> (B, T, C), x with the source's vectors in one place",
    cases=_patched,
    more=drawn(10, _places),
    praise="`patch` is right: one place is the source's, and x itself has not changed.",
    right=[right_patch, patch_by_where],
    hints=[
        "If you write into x itself, whose vectors have you changed?",
        "Clone x, and then set `x[:, place]` to ...",
    ],
    question=number(
        "x has the numbers 1, 2, 3, 4 in its four places, and the source 10, 20, 30, 40. The place "
        "is 1, counted from 0. What is the sum of the result?",
        lambda f: f(
            torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]),
            torch.tensor([[[10.0], [20.0], [30.0], [40.0]]]),
            1,
        ).sum(),
        digits=0,
    ),
    mistakes=[
        mistake(
            "changes the roles",
            "The source has received a vector of x: it is the other way round",
            lambda x, source, place: right_patch(source, x, place),
        ),
        mistake(
            "patches everything after it",
            "All places from this one on are the source's: one place alone must change, or you "
            "cannot say which one mattered",
            lambda x, source, place: torch.cat([x[:, :place], source[:, place:]], dim=1),
        ),
        mistake(
            "patches a row",
            "`x[place]` is a text of the batch: the places are the second dimension",
            lambda x, source, place: torch.cat([x[:place], source[[place]], x[place + 1 :]]),
        ),
        mistake(
            "adds",
            "The source's vector is added to that of x: it takes its place",
            lambda x, source, place: x + right_patch(torch.zeros_like(x), source, place),
        ),
    ],
)


def _weights(ids, seed, H=2):
    """Random attention that sees no future, for ids (B, T) -> (B, H, T, T)."""
    B, T = ids.shape
    scores = 2 * torch.randn(B, H, T, T, generator=torch.Generator().manual_seed(seed))
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf")).softmax(dim=-1)


def _maps():
    notes = ([[0, 1, 0, 2, 0]], [[3, 1, 4, 1, 5, 1, 4, 3], [2, 2, 7, 2, 7, 7, 0, 2]])
    every = [torch.tensor(ids) for ids in notes]
    every.append(songs(3, torch.Generator().manual_seed(0), 5, 7, length=16))
    return [(_weights(ids, seed), ids) for seed, ids in enumerate(every)]


def _heard(draw):
    """Few notes in a short song, so that some come again."""
    notes = integers(draw, draw.randint(1, 4), draw.randint(1, 3), draw.randint(5, 9))
    return _weights(notes, draw.randrange(99), draw.randint(1, 3)), notes


def _earlier(ids):
    """(B, T, T), True where an earlier note is the present one."""
    return (ids[:, :, None] == ids[:, None, :]).tril(-1)


def one_later(same):
    return F.pad(same[:, :, :-1], (1, 0))


def score_of(places=one_later, counts=lambda same: same.any(dim=2)):
    """Scores (B, H, T, T), (B, T) -> (H,) of the weight on places (B, T, T), over counted ones."""

    def answer(weights, ids):
        same = _earlier(ids)
        weight = (weights * places(same)[:, None]).sum(dim=-1)  # (B, H, T)
        counted = counts(same)  # (B, T)
        return (weight * counted[:, None]).sum(dim=(0, 2)) / counted.sum()

    return answer


right_induction_score = score_of()


def score_by_loop(weights, ids):
    found = []
    for song, maps in zip(ids.tolist(), weights, strict=True):
        for t, note in enumerate(song):
            after = [s + 1 for s in range(t) if song[s] == note]
            if after:
                found.append(maps[:, t, after].sum(dim=-1))
    return torch.stack(found).mean(dim=0)


def latest(same):
    """Only the last True of each row."""
    T = same.shape[-1]
    place = (same * torch.arange(1, T + 1)).argmax(dim=2)
    return F.one_hot(place, T).bool() & same


_SMALL = torch.zeros(1, 1, 5, 5)
_SMALL[0, 0, 0, 0] = _SMALL[0, 0, 1, 1] = _SMALL[0, 0, 3, 3] = 1.0
_SMALL[0, 0, 2, :3] = torch.tensor([0.1, 0.6, 0.3])
_SMALL[0, 0, 4] = torch.tensor([0.05, 0.4, 0.1, 0.3, 0.15])

induction_score = exercise(
    "22.4",
    "induction_score(weights: (B, H, T, T), ids: (B, T)) -> (H,), the mean weight on what followed",
    cases=_maps,
    more=drawn(10, _heard),
    praise="`induction_score` is right, for notes that were played once before and more often.",
    right=[right_induction_score, score_by_loop],
    hints=[
        "The song is A B A C A. To which places does an induction head attend from the last A?",
        "`same = (ids[:, :, None] == ids[:, None, :]).tril(-1)` says where the present note was "
        "played before. One place to the right of each True is ...",
    ],
    question=number(
        "The song is A B A C A. From its third note a head's weights are 0.1, 0.6 and 0.3, from "
        "its fifth 0.05, 0.4, 0.1, 0.3 and 0.15. What is its induction score?",
        lambda f: f(_SMALL, torch.tensor([[0, 1, 0, 2, 0]]))[0],
        digits=3,
    ),
    mistakes=[
        mistake(
            "attends to the earlier note itself",
            "This is the weight on the earlier plays of the same note: an induction head attends "
            "to the place after them",
            score_of(lambda same: same),
        ),
        mistake(
            "attends to the note before it",
            "This is one place too early: what followed the note stands to its right",
            score_of(lambda same: F.pad(same[:, :, 1:], (0, 1))),
        ),
        mistake(
            "takes the latest play only",
            "Only the latest play counts here: the note may have been played several times before, "
            "and the weights after all of them are added",
            score_of(lambda same: one_later(latest(same))),
        ),
        mistake(
            "counts all places",
            "The mean runs over all places: leave out those whose note was not played before",
            score_of(counts=lambda same: torch.ones_like(same[:, :, 0])),
        ),
    ],
)


class Player(torch.nn.Module):
    """A model by rule: `choose(ids)`, (B, T) -> (B, T, 32), how likely each next note is.

    A tenth of the chance is spread over all notes. `name` is what the check calls it.
    """

    def __init__(self, name, choose):
        super().__init__()
        self.name, self.choose = name, choose

    def __repr__(self):
        return f"a model that {self.name}"

    def forward(self, ids):
        p = self.choose(ids)
        p = p / p.sum(dim=-1, keepdim=True).clamp(min=1e-9)
        return (0.9 * p + 0.1 / NOTES).log()


def _notes(ids):
    return F.one_hot(ids, NOTES).float()


def _after_all(ids):
    return one_later(_earlier(ids)).float() @ _notes(ids)


def _after_latest(ids):
    return one_later(latest(_earlier(ids))).float() @ _notes(ids)


def _bag(ids):
    return _notes(ids).cumsum(dim=1).clamp(max=1)


def _six_before(ids):
    return F.pad(_notes(ids), (0, 0, 5, 0))[:, : ids.shape[1]]


def _unsure(ids):
    return 3 * F.normalize(_after_all(ids), p=1.0, dim=-1) + F.normalize(_bag(ids), p=1.0, dim=-1)


def _next_letter(ids):
    return _notes((ids + 1) % NOTES)


FOLLOW = {
    "copies what came after it last time": _after_latest,
    "copies what came after it most often": _after_all,
    "copies so three times out of four": _unsure,
}
FOLLOW_NOT = {
    "plays the note of six places back": _six_before,
    "plays any note heard in the song": _bag,
    "plays the same note again": _notes,
    "plays the next letter": _next_letter,
    "plays any of the 32 notes": lambda ids: torch.ones(*ids.shape, NOTES),
}
PLAYERS = [Player(name, rule) for name, rule in (FOLLOW | FOLLOW_NOT).items()]
FIVE = [PLAYERS[i] for i in (0, 3, 4, 6, 2)]


def _copies(is_copied):
    """Copies loops of some periods only: of those for which `is_copied` is true."""

    def choose(ids):
        period = torch.tensor([[len(set(row))] for row in ids.tolist()])
        return torch.where(is_copied(period)[..., None], _after_latest(ids), _bag(ids))

    return choose


PARTLY = [
    Player("copies loops of even length only", _copies(lambda period: period % 2 == 0)),
    Player("copies loops of odd length only", _copies(lambda period: period % 2 == 1)),
    Player("copies short loops only", _copies(lambda period: period < 7)),
    Player("copies long loops only", _copies(lambda period: period > 5)),
]


def copy_loss(model, ids, where=heard):
    with torch.no_grad():
        logits = model(ids[:, :-1])
    losses = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")  # (B, T)
    return losses[where(ids)].mean().item()


def loops_of(notes):
    return songs(64, torch.Generator().manual_seed(notes), notes, notes, jump=0.0)


def judged(lengths=(4, 5, 6, 7, 8), limit=1.2, where=heard):
    """The right answer, or one with other settings."""

    def answer(model):
        return max(copy_loss(model, loops_of(n), where) for n in lengths) < limit

    return answer


def by_hits(model):
    for ids in map(loops_of, (4, 5, 6, 7, 8)):
        hits = model(ids[:, :-1]).argmax(dim=-1) == ids[:, 1:]
        if hits[heard(ids)].float().mean() < 0.6:
            return False
    return True


def _say(got, model):
    said = "is accepted, but it does not follow" if got else "is refused, but it follows"
    raise Wrong(f"{repr(model).capitalize()} {said}.")


follows = exercise(
    "22.5",
    "follows(model) -> whether it goes on with a loop as it heard it. model: (B, T) -> (B, T, 32)",
    cases=lambda: [(player,) for player in PLAYERS],
    more=[(player,) for player in PARTLY],
    praise="`follows` is right: no model is asked how it is built, only what it does.",
    right=[judged(), by_hits],
    explain=_say,
    hints=[
        "What would a model that always looks six places back do with a loop of five?",
        "Make songs without jumps, with loops of several lengths. A model that follows has a small "
        "`copy_loss` for each of them, while one that knows only which notes belong to the song "
        "cannot get below ln 4 = 1.39, even ...",
    ],
    question=number(
        "Five models go on with songs. Number 1 copies what came after the note last time, number "
        "2 plays the note of six places back, number 4 any note heard in the song, number 8 the "
        "next letter, and number 16 copies three times out of four. What is the sum of the numbers "
        "of those that follow a loop?",
        lambda f: sum(2**i for i, player in enumerate(FIVE) if f(player)),
        digits=0,
    ),
    mistakes=[
        mistake(
            "tries loops of six only",
            "The model that plays the note of six places back is accepted: ask for a small loss at "
            "several lengths, each of them",
            judged(lengths=(6,)),
        ),
        mistake(
            "asks for better than chance",
            "A bag of notes is accepted: whoever knows which notes belong to the song is better "
            "than ln 32 without any order",
            judged(lengths=(5, 7), limit=3.0),
        ),
        mistake(
            "counts places where nothing can be copied",
            "The loss is also counted where the note comes for the first time: nobody can copy "
            "there, and models that follow are refused",
            judged(where=lambda ids: torch.ones_like(ids[:, 1:]).bool()),
        ),
    ],
)
