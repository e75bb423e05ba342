"""What fools chapter 13's BERT: German texts that put the object first -> object_first.json.

Usage: python -m lab.object_first [--quick | --write] [--only PART ...]

German may say "jede Katze sieht der Hund" for "the dog sees every cat": the articles tell who sees.
No text that the shipped BERT has read does so. Here the same network learns the same pairs at the
same rate, in two ways for each seed: as they are, and with the object first in a part of the German
texts that allow it. It is asked for the subject of English texts that it has not met, beside the
German in both orders; in each of these texts an article settles who acts (part "gaps"). Of one seed
there are other shares besides, how many subjects are found where the subject's article shows them,
the object's or both, and what fills the gap of a sentence of each kind (part "shares").

The judges of the chapter read `[CLS]`, on the shipped network and on one that was not pretrained.
Each kind learns from the same judged pairs, at the best of five rates for it on other pairs, and is
asked about new pairs, and about right translations in both orders (part "judges"). Ten minutes.
"""

import random
import statistics
from typing import Any

import torch
from torch import nn

from lab import runs
from lab.bert_pretraining import FULL as PRETRAINING
from lab.bert_pretraining import KINDS, MASK, PAD, RECIPE, Data, fresh, pretrained
from scratchformer.attention import padding_mask
from scratchformer.data.synthetic_pairs import NOUNS, random_scramble, random_sentence
from scratchformer.models import BERT
from scratchformer.shipped import shipped_record
from scratchformer.training import TrainingConfig, eval_mode, fit, token_loss

RATE = shipped_record("english-german")["settings"]["lr"]
SHARE = 0.25  # of the texts that allow it, in the second way
SEEDS = (0, 1, 2)
GAPS = RECIPE | {
    "texts": 20_000, "steps": 4000, "rate": RATE, "share": SHARE, "tested": 200, "seeds": SEEDS
}  # fmt: skip
JUDGES: dict[str, Any] = {
    "labelled": 1600,
    "steps": 400,
    "rates": (3e-4, 6e-4, 1e-3, 2e-3, 4e-3),
    "rate seeds": (100, 101, 102),
    "tested": 1000,
    "seeds": SEEDS,
}
SHARES = {k: v for k, v in GAPS.items() if k not in ("share", "seeds")}
SHARES |= {"shares": (0.0, 0.02, 0.05, 0.1, 0.25), "seed": 0}
SETTINGS = {"gaps": GAPS, "shares": SHARES, "judges": JUDGES}
QUICK = {"texts": 1000, "steps": 2, "tested": 8, "seeds": (0,), "labelled": 40}
QUICK |= {"rates": (1e-3,), "rate seeds": (100,)}
ENGLISH = {word for row in NOUNS for word in row[:2]}
AS_SUBJECT, AS_OBJECT = ("der", "dieser", "jeder"), ("den", "diesen", "jeden", "einen")
# An English text, its second word the subject, and its German, by the articles that show who acts
ASKED = {
    "subject's": ("the dog sees every cat", "der Hund sieht jede Katze"),
    "object's": ("every cat sees the dog", "jede Katze sieht den Hund"),
    "both": ("the king sees the dog", "der König sieht den Hund"),
}


def nouns(german: list[str]) -> list[int]:
    """The places of the two nouns: they have capitals."""
    return [i for i, word in enumerate(german) if word[0].isupper()]


def object_first(german: list[str]) -> list[str]:
    """[der Hund sieht jede Katze] -> [jede Katze sieht der Hund]."""
    verb, end = nouns(german)[0] + 1, nouns(german)[1] + 1
    return [*german[verb + 1 : end], german[verb], *german[:verb], *german[end:]]


def allows_it(german: list[str]) -> bool:
    """Whether the subject comes first, and an article tells the two nouns apart in any order."""
    first, second = nouns(german)
    if "," in german or german[0] in ("heute", "hier", "jetzt") or german[first] == german[second]:
        return False
    return german[0] in AS_SUBJECT or german[first + 2] in AS_OBJECT


def turned(pairs, share, seed):
    """The pairs, with the object first in this share of the German texts that allow it."""
    rng = random.Random(seed)
    return [
        (a, object_first(b)) if allows_it(b) and rng.random() < share else (a, b) for a, b in pairs
    ]


def tests(n, seed=9):
    """n pairs of the split "seen" that allow the object first."""
    rng = random.Random(seed)
    pairs: list[tuple[list[str], list[str]]] = []
    while len(pairs) < n:
        a, b = (text.split() for text in random_sentence(rng, "seen"))
        if allows_it(b):
            pairs.append((a, b))
    return pairs


def subject_found(data, model, pairs) -> float:
    """The share of English texts whose subject, hidden, is the likeliest word."""
    places = [1 + next(i for i, word in enumerate(a) if word in ENGLISH) for a, _ in pairs]
    ids, segments = data.rows(pairs)
    row, place = torch.arange(len(ids)), torch.tensor(places)
    answers = ids[row, place]
    ids[row, place] = MASK
    with eval_mode(model):
        logits = model(ids, segments, padding_mask(ids, PAD))
    return round((logits[row, place].argmax(dim=-1) == answers).float().mean().item(), 4)


def in_both_orders(n):
    """The tests as they are, and with the object first."""
    usual = tests(n)
    return {"subject first": usual, "object first": [(a, object_first(b)) for a, b in usual]}


def trained_on(share, seed, size):
    """The texts, with the object first in this share of them, and a network that learned them."""
    data = Data(size["texts"])
    data.pairs = turned(data.pairs, share, seed)
    single = [(pair[i % 2],) for i, pair in enumerate(data.pairs)]
    data.kinds = data.rows(data.pairs), data.rows(single)
    return data, pretrained(data, seed, size["steps"], RATE)


def gaps(options):
    """For each seed and each way to train: the share of subjects found, in both orders."""
    size: dict[str, Any] = GAPS | (QUICK if options.quick else {})
    orders, shares = in_both_orders(size["tested"]), []
    for seed in size["seeds"]:
        for share in (0.0, SHARE):
            data, model = trained_on(share, seed, size)
            row = {"seed": seed, "share": share}
            shares.append(row | {o: subject_found(data, model, p) for o, p in orders.items()})
            print(shares[-1], flush=True)
    return {"found": shares}


def shown_by(german: list[str]) -> str:
    """Which article shows who acts, of a text that allows the object first."""
    by_subject, by_object = german[0] in AS_SUBJECT, german[nouns(german)[0] + 2] in AS_OBJECT
    return "both" if by_subject and by_object else "subject's" if by_subject else "object's"


def said(data, model, english, german):
    """What fills the gap of this English, its second word, beside this German, and how surely."""
    ids, segments = data.rows([(english.split(), german)])
    ids[0, 2] = MASK
    with eval_mode(model):
        p = model(ids, segments, padding_mask(ids, PAD))[0, 2].softmax(dim=-1)
    word = next(word for word, i in data.ids.items() if i == int(p.argmax()))
    return [word, round(p.max().item(), 3)]


def shares(options):
    """For each share: the subjects found in both orders, by article, and what fills three gaps."""
    size: dict[str, Any] = SHARES | (QUICK if options.quick else {})
    orders, found = in_both_orders(size["tested"]), []
    usual = orders["subject first"]
    for share in size["shares"]:
        data, model = trained_on(share, size["seed"], size)
        row: dict[str, Any] = {"share": share}
        row |= {order: subject_found(data, model, pairs) for order, pairs in orders.items()}
        for kind, (english, german) in ASKED.items():
            pairs = [(a, object_first(b)) for a, b in usual if shown_by(b) == kind]
            n = round(subject_found(data, model, pairs) * len(pairs)) if pairs else 0
            word, p = said(data, model, english, object_first(german.split()))
            row[kind] = {"found": n, "of": len(pairs), "said": word, "p": p}
        found.append(row)
        print(found[-1], flush=True)
    return {"found": found}


class Judge(nn.Module):
    """Does the second text say the same as the first? A linear layer on the vector of [CLS]."""

    def __init__(self, bert):
        super().__init__()
        self.bert, self.top = bert, nn.Linear(bert.config.d_model, 2)

    def forward(self, ids, segments):
        return self.top(self.bert.encode(ids, segments, padding_mask(ids, PAD))[:, 0])


def judged(n, kind, seed):
    """n pairs, every other one scrambled, and 1 where the German says the same."""
    rng, texts = random.Random(seed), []
    for i in range(n):
        english, german, other = random_scramble(rng, kind)
        texts.append((english.split(), (other if i % 2 else german).split()))
    return texts, torch.arange(1, n + 1) % 2


def accuracy(data, judge, texts, same):
    with eval_mode(judge):
        return (judge(*data.rows(texts)).argmax(dim=-1) == same).float().mean().item()


def judge_of(data, bert, lessons, seed, steps, lr):
    """A judge on top of this network, trained on judged pairs."""
    torch.manual_seed(seed)
    judge, (texts, same) = Judge(bert), lessons
    ids, segments = data.rows(texts)

    def batch(generator):
        pick = torch.randint(len(same), (32,), generator=generator)
        return ids[pick], segments[pick], same[pick]

    def loss(model, ids, segments, same):
        return token_loss(model(ids, segments), same)

    fit(judge, batch, loss, TrainingConfig(steps, lr=lr, seed=seed, warmup=steps // 10))
    return judge


def judges(options):
    """For both networks: rates on other pairs, and for each seed the shares of right judgements."""
    size: dict[str, Any] = JUDGES | (QUICK if options.quick else {})
    data = Data(PRETRAINING["texts"])
    lessons = judged(size["labelled"], "train", seed=5)
    development, tested = (
        {kind: judged(size["tested"], kind, seed) for kind in KINDS} for seed in (70, 8)
    )
    orders = {
        order: (pairs, torch.ones(len(pairs), dtype=torch.int64))
        for order, pairs in in_both_orders(200).items()
    }

    def network(name, seed):
        torch.manual_seed(seed)
        return BERT.pretrained("english-german") if name == "pretrained" else fresh(data)

    result: dict[str, Any] = {"rates": {}, "found": []}
    for name in ("pretrained", "fresh"):
        shares = {}
        for lr in size["rates"]:
            tries = []
            for seed in size["rate seeds"]:
                judge = judge_of(data, network(name, seed), lessons, seed, size["steps"], lr)
                tries += [accuracy(data, judge, *texts) for texts in development.values()]
            shares[lr] = round(statistics.fmean(tries), 4)
        result["rates"][name] = shares
        print(name, shares, flush=True)
        for seed in size["seeds"]:
            best = max(shares, key=shares.__getitem__)
            judge = judge_of(data, network(name, seed), lessons, seed, size["steps"], best)
            row: dict[str, Any] = {"network": name, "seed": seed, "rate": best}
            for what, texts in (tested | orders).items():
                row[what] = round(accuracy(data, judge, *texts), 4)
            result["found"].append(row)
            print(row, flush=True)
    return result


PARTS = {"gaps": gaps, "shares": shares, "judges": judges}
main = runs.script(__doc__, "object_first", PARTS, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
