"""What masked pretraining is worth: chapter 13's runs at full length -> bert_pretraining.json.

Usage: python -m lab.bert_pretraining [--quick | --write]

One small network reads pairs of an English and a German text. It is trained as a BERT (hidden
words), as a GPT (a causal mask, next words), or not at all. Then it learns to judge whether the
German says the same as the English, from few judged pairs; the wrong ones have the same words.
A fourth judge starts untrained and trains as long as pretraining and judging together, with the
same optimiser. Beside them stand tables of counts. Test pairs are drawn anew here: settings were
chosen on others. About an hour.
"""

import collections
import copy
import itertools
import math
import random
import statistics
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from lab import runs
from scratchformer.attention import causal_mask, padding_mask
from scratchformer.data.masking import IGNORED, mask_tokens
from scratchformer.data.synthetic_pairs import random_scramble, random_sentence
from scratchformer.models import BERT, BERTConfig
from scratchformer.training import TrainingConfig, eval_mode, fit, token_loss
from scratchformer_course.measurements import FOLDER

PAD, CLS, SEP, MASK = range(4)
SPECIAL = (PAD, CLS, SEP)
PRETRAINING = {"lr": 3e-3, "muon_lr": 0.02, "warmup": 100}
ROWS, HIDDEN = 64, 0.3
LONG = {"lr": 3e-3, "muon_lr": 0.02, "warmup": 100}  # of the control that trains as long
TUNING = {"steps": 600, "lr": 5e-4, "warmup": 20}
KINDS = ("seen", "unseen")
FULL = {
    "texts": 20_000,  # pairs to pretrain on and to count
    "steps": 3000,
    "tuning": TUNING,
    "labelled": (100, 400, 1600, 6400),
    "tested": 1000,  # judged pairs of each kind
    "gaps": 300,  # pairs of each kind whose words are hidden
    "seeds": (0, 1, 2),
}
QUICK = {"texts": 1000, "steps": 2, "tuning": TUNING | {"steps": 2, "warmup": 1}}
QUICK |= {"labelled": (20,), "tested": 10, "gaps": 4, "seeds": (0,)}
STORED = FOLDER / "bert_pretraining.json"


class Data:
    """The texts, their vocabulary, and how a row of ids is made of them."""

    def __init__(self, n: int, seed: int = 0):
        rng = random.Random(seed)
        self.pairs = [tuple(t.split() for t in random_sentence(rng)) for _ in range(n)]
        words = sorted({word for pair in self.pairs for text in pair for word in text})
        self.ids = {word: i for i, word in enumerate(words, start=4)}
        self.vocab_size = len(words) + 4
        self.T = max(len(a) + len(b) for a, b in self.pairs) + 3
        both = self.rows(self.pairs)
        single = self.rows([(pair[i % 2],) for i, pair in enumerate(self.pairs)])
        self.inputs = [torch.cat(tensors) for tensors in zip(both, single, strict=True)]

    def row(self, a, b=None):
        ids = [CLS, *(self.ids[word] for word in a), SEP]
        segments = [0] * len(ids)
        if b is not None:
            ids += [*(self.ids[word] for word in b), SEP]
            segments += [1] * (len(b) + 1)
        pads = self.T - len(ids)
        return ids + [PAD] * pads, segments + [0] * pads

    def rows(self, texts):
        ids, segments = zip(*(self.row(*text) for text in texts), strict=True)
        return torch.tensor(ids), torch.tensor(segments)

    def config(self):
        return BERTConfig(self.vocab_size, self.T, d_model=64, n_heads=4, n_layers=2)


def masked_loss(model, inputs, segments, targets):
    asked = targets != IGNORED
    vectors = model.encode(inputs, segments, padding_mask(inputs, PAD))
    return token_loss(model.lm_head(model.transform(vectors[asked])), targets[asked])


def next_word_loss(model, inputs, segments, targets):
    mask = padding_mask(inputs, PAD) & causal_mask(inputs.shape[1])
    return token_loss(model(inputs, segments, mask), targets)


def for_steps(settings, steps):
    """With so many steps, and no longer a warm-up than half of them."""
    return settings | {"steps": steps, "warmup": min(settings["warmup"], steps // 2)}


def pretrained(data, seed, steps, causal=False):
    """The network, trained on half pairs and half single texts: as a BERT or as a GPT."""

    def batch(generator):
        pick = torch.randint(len(data.inputs[0]), (ROWS,), generator=generator)
        ids, segments = (tensor[pick] for tensor in data.inputs)
        if causal:
            later = F.pad(ids[:, 1:], (0, 1), value=PAD)
            return ids, segments, later.masked_fill(later == PAD, IGNORED)
        inputs, targets = mask_tokens(ids, MASK, data.vocab_size, SPECIAL, HIDDEN, generator)
        return inputs, segments, targets

    torch.manual_seed(seed)
    model = BERT(data.config())
    settings = for_steps(PRETRAINING, steps) | {"seed": seed}
    fit(model, batch, next_word_loss if causal else masked_loss, TrainingConfig(**settings))
    return model


class Judge(nn.Module):
    """Does the second text say the same as the first? A linear layer on the mean vector."""

    def __init__(self, bert, causal=False):
        super().__init__()
        self.bert, self.causal = bert, causal
        self.top = nn.Linear(bert.config.d_model, 2)

    def forward(self, ids, segments):
        mask, real = padding_mask(ids, PAD), (ids != PAD).unsqueeze(-1)
        if self.causal:
            mask = mask & causal_mask(ids.shape[1])
        vectors = self.bert.encode(ids, segments, mask)
        return self.top((vectors * real).sum(dim=1) / real.sum(dim=1))


def judged(n, kind, seed):
    """n pairs, every other one scrambled, and 1 where the German says the same."""
    rng, texts = random.Random(seed), []
    for i in range(n):
        english, german, other = random_scramble(rng, kind)
        texts.append((english.split(), (other if i % 2 else german).split()))
    return texts, torch.arange(1, n + 1) % 2


def taught(data, judge, texts, same, seed, **settings):
    ids, segments = data.rows(texts)

    def batch(generator):
        pick = torch.randint(len(same), (32,), generator=generator)
        return ids[pick], segments[pick], same[pick]

    def loss(model, ids, segments, same):
        return token_loss(model(ids, segments), same)

    fit(judge, batch, loss, TrainingConfig(seed=seed, **settings))
    return judge


def accuracy(data, judge, texts, same):
    with eval_mode(judge):
        return (judge(*data.rows(texts)).argmax(dim=-1) == same).float().mean().item()


def filled(data, model, texts, which, alone, causal=False):
    """The share of words that are found when each of the first or second text is hidden in turn."""
    rows, segments, places, answers = [], [], [], []
    for a, b in texts:
        ids, parts = data.row((a, b)[which]) if alone else data.row(a, b)
        start = 1 if alone or which == 0 else len(a) + 2
        for place in range(start, start + len((a, b)[which])):
            answers.append(ids[place])
            rows.append([*ids[:place], MASK, *ids[place + 1 :]])
            segments.append(parts)
            places.append(place)
    rows, segments, places, answers = map(torch.tensor, (rows, segments, places, answers))
    mask = padding_mask(rows, PAD)
    with eval_mode(model):
        if causal:  # the word before the gap predicts it
            logits = model(rows, segments, mask & causal_mask(rows.shape[1]))
            places = places - 1
        else:
            logits = model(rows, segments, mask)
    guess = logits[torch.arange(len(rows)), places].argmax(dim=-1)
    return (guess == answers).float().mean().item()


# Counting


def grams(words, n):
    return set(zip(*(words[i:] for i in range(n)), strict=False))


class PairTable:
    """How much more often German m-grams stand beside English n-grams than by chance, counted."""

    def __init__(self, pairs, n, m):
        self.n, self.m, self.total = n, m, len(pairs)
        self.english, self.german, self.both = (collections.Counter() for _ in range(3))
        for a, b in pairs:
            first, second = grams(a, n), grams(b, m)
            self.english.update(first)
            self.german.update(second)
            self.both.update(itertools.product(first, second))

    def strength(self, x, y):
        chance = (self.english.get(x, 0) + 1) * (self.german.get(y, 0) + 1) / self.total
        return math.log((self.both.get((x, y), 0) + 0.1) / chance)

    def features(self, a, b):
        """The weakest and the mean best partner, of the German and of the English grams."""
        first, second = grams(a, self.n), grams(b, self.m)
        partners = [max(self.strength(x, y) for x in first) for y in second]
        back = [max(self.strength(x, y) for y in second) for x in first]
        return [f(values) for values in (partners, back) for f in (min, statistics.fmean)]


def linear(features, same, tests, seed=0):
    """Accuracies of logistic regression, fitted on judged pairs."""
    mean, std = features.mean(dim=0), features.std(dim=0) + 1e-6
    torch.manual_seed(seed)
    top = nn.Linear(features.shape[1], 2)
    optimizer = torch.optim.AdamW(top.parameters(), lr=0.05, weight_decay=0.01)
    for _ in range(400):
        loss = F.cross_entropy(top((features - mean) / std), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [(top((x - mean) / std).argmax(dim=-1) == y).float().mean().item() for x, y in tests]


def bags(data, texts):
    """How often each word stands in the first text, and in the second."""
    ids, segments = data.rows(texts)
    return F.one_hot(ids + data.vocab_size * segments, 2 * data.vocab_size).sum(dim=1).float()


def counted(data, labelled, tests):
    """Accuracies of the tables, for each number of judged pairs."""
    tables = {
        "words": [PairTable(data.pairs, 1, 1)],
        "neighbours": [PairTable(data.pairs, 2, 2)],
    }
    more = [PairTable(data.pairs, n, m) for n, m in ((2, 3), (3, 2), (3, 3))]
    tables["all five"] = [*tables["words"], *tables["neighbours"], *more]

    def features(own, texts):
        return torch.tensor([[x for t in own for x in t.features(a, b)] for a, b in texts])

    ways = {name: partial(features, own) for name, own in tables.items()}
    ways["bag of words"] = partial(bags, data)
    result = {}
    for name, way in ways.items():
        ready = [(way(texts), same) for texts, same in tests]
        result[name] = {
            n: dict(zip(KINDS, linear(way(texts), same, ready), strict=True))
            for n, (texts, same) in labelled.items()
        }
    return result


def gap_tables(data, texts):
    """Shares of English gaps filled by counts: the commonest word; both neighbours; and German."""
    common, around = collections.Counter(), collections.defaultdict(collections.Counter)
    for a, _ in data.pairs:
        words = ["[CLS]", *a, "[SEP]"]
        for left, word, right in zip(words, words[1:], words[2:], strict=False):
            common[word] += 1
            around[left, right][word] += 1
    partner = PairTable(data.pairs, 1, 1)
    top = common.most_common(1)[0][0]
    hits, n = collections.Counter(), 0
    for a, b in texts:
        words = ["[CLS]", *a, "[SEP]"]
        for left, word, right in zip(words, words[1:], words[2:], strict=False):
            seen = around[left, right]
            total = seen.total()

            def fits(w, seen=seen, total=total):  # log p(w | neighbours), smoothed by frequency
                return math.log((seen[w] + common[w] / common.total()) / (total + 1))

            # German words that no other English word explains
            others = [(x,) for x in a if x != word]
            free = [
                y
                for y in grams(b, 1)
                if max((partner.strength(x, y) for x in others), default=0.0) < 1
            ]

            def beside(w, free=free):
                return max((partner.strength((w,), y) for y in free), default=0.0)

            hits["commonest"] += word == top
            hits["neighbours"] += word == max(common, key=fits)
            hits["neighbours and German"] += word == max(common, key=lambda w: fits(w) + beside(w))
            n += 1
    return {name: count / n for name, count in hits.items()}


def gap_rows(data, models, seed, gaps):
    """How many gaps each model fills, of each kind and language, with the other text and alone."""
    for (name, model), (kind, texts), which, alone in itertools.product(
        models.items(), gaps.items(), (0, 1), (False, True)
    ):
        share = filled(data, model, texts, which, alone, causal=name == "GPT")
        row = {"model": name, "seed": seed, "kind": kind, "text": ("English", "German")[which]}
        yield row | {"alone": alone, "share": round(share, 4)}


def judged_rows(data, models, seed, steps, labelled, tests, tuning):
    """How well each model judges after some judged pairs, and one that trains on them for long."""

    def row(name, n, judge):
        shares = [round(accuracy(data, judge, *test), 4) for test in tests]
        found = {"model": name, "seed": seed, "labelled": n}
        return found | dict(zip(KINDS, shares, strict=True))

    torch.manual_seed(seed)
    models = models | {"scratch": BERT(data.config())}
    for (name, model), (n, lessons) in itertools.product(models.items(), labelled.items()):
        torch.manual_seed(seed)
        judge = Judge(copy.deepcopy(model), causal=name == "GPT")
        changes = {"lr": 1e-3} if name == "scratch" else {}
        yield row(name, n, taught(data, judge, *lessons, seed, **tuning | changes))
    most, lessons = list(labelled.items())[-1]
    long = tuning | for_steps(LONG, steps + tuning["steps"])
    torch.manual_seed(seed)
    judge = taught(data, Judge(BERT(data.config())), *lessons, seed, **long)
    own = round(accuracy(data, judge, *lessons), 4)
    yield row("scratch, long", most, judge) | {"own pairs": own}


def measure(options):
    """What is stored."""
    size = QUICK if options.quick else FULL
    data, rng = Data(size["texts"]), random.Random(7)
    gaps = {
        kind: [tuple(t.split() for t in random_sentence(rng, kind)) for _ in range(size["gaps"])]
        for kind in KINDS
    }
    labelled = {n: judged(n, "train", seed=100 + n) for n in size["labelled"]}
    tests = [judged(size["tested"], kind, seed=i) for i, kind in enumerate(KINDS, start=8)]
    result = {
        "machine": runs.machine(),
        "settings": {"pretraining": PRETRAINING, "rows": ROWS, "hidden": HIDDEN}
        | {name: size[name] for name in ("steps", "tuning", "texts", "tested")},
        "counted": counted(data, labelled, tests),
        "gaps counted": {kind: gap_tables(data, texts) for kind, texts in gaps.items()},
        "gaps": [],
        "judged": [],
    }
    print(result["counted"], result["gaps counted"], flush=True)
    steps = size["steps"]
    for seed in size["seeds"]:
        models = {
            "BERT": pretrained(data, seed, steps),
            "GPT": pretrained(data, seed, steps, causal=True),
        }
        for row in gap_rows(data, models, seed, gaps):
            result["gaps"].append(row)
            print(row, flush=True)
        for row in judged_rows(data, models, seed, steps, labelled, tests, size["tuning"]):
            result["judged"].append(row)
            print(row, flush=True)
    return result


def main(arguments=None):
    return runs.carry_out(__doc__, STORED, measure, arguments)


if __name__ == "__main__":
    main()
