"""What masked pretraining is worth: chapter 13's runs at full length -> bert_pretraining.json.

Usage: python -m lab.bert_pretraining [--quick | --write]

One small network reads pairs of an English and a German text. It is trained as a BERT (hidden
words) or as a GPT (a causal mask, next words), with as many steps and as many rates tried. Each
fills the gaps of texts that it has not met, beside tables of counts.

Rates and the table's settings are chosen on the development texts, and what is stored is read once,
on the test texts: both are drawn alike, from other seeds. With --write the BERT of the
first seed goes into the package, as `BERT.pretrained("english-german")`. About half an hour.
"""

import collections
import copy
import hashlib
import itertools
import math
import random
import time
from typing import Any

import torch
import torch.nn.functional as F

from lab import runs
from lab.ship import round_to_half
from scratchformer.attention import causal_mask, padding_mask
from scratchformer.data.masking import IGNORED, mask_tokens
from scratchformer.data.synthetic_pairs import random_sentence
from scratchformer.models import BERT, BERTConfig
from scratchformer.models.pretrained import save_model
from scratchformer.shipped import FOLDER as SHIPPED
from scratchformer.training import TrainingConfig, eval_mode, fit, token_loss

NAME = "english-german"
SPECIAL_TOKENS = ["·", "[CLS]", "[SEP]", "[MASK]"]
PAD, CLS, SEP, MASK = range(4)
SPECIAL = (PAD, CLS, SEP)
SIZES = {"d_model": 64, "n_heads": 4, "n_layers": 2}
ROWS, HIDDEN, SINGLE = 32, 0.3, 0.15  # a batch; words hidden in it; the chance of single texts
KINDS = ("seen", "unseen")
FULL: dict[str, Any] = {
    "texts": 20_000,  # pairs to pretrain on and to count
    "steps": 6000,
    "rates": (1e-3, 2e-3, 4e-3, 6e-3, 1e-2),  # of pretraining
    "gaps": 300,  # pairs of each kind whose words are hidden
    "seeds": (0, 1, 2),
}
QUICK: dict[str, Any] = {"texts": 1000, "steps": 2, "rates": (3e-3,), "gaps": 4, "seeds": (0,)}
START = 0.05  # standard deviation of a matrix before training
WARMUP = 200  # steps in which the rate rises
RECIPE: dict[str, Any] = SIZES | {"rows": ROWS, "hidden": HIDDEN, "warmup": WARMUP}
RECIPE |= {"start": START, "single": SINGLE}
SETTINGS = RECIPE | FULL


class Data:
    """The texts, their vocabulary, and how a row of ids is made of them."""

    def __init__(self, n: int, seed: int = 0):
        rng = random.Random(seed)
        self.pairs = [tuple(t.split() for t in random_sentence(rng)) for _ in range(n)]
        words = sorted({word for pair in self.pairs for text in pair for word in text})
        self.ids = {word: i for i, word in enumerate(words, start=4)}
        self.vocab_size = len(words) + 4
        self.T = max(len(a) + len(b) for a, b in self.pairs) + 3
        single = [(pair[i % 2],) for i, pair in enumerate(self.pairs)]
        self.kinds = self.rows(self.pairs), self.rows(single)

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

    def draw(self, generator):
        """A batch of one kind, pairs or single texts, cut where the longest ends."""
        kind = int(torch.rand((), generator=generator) < SINGLE)
        pick = torch.randint(len(self.pairs), (ROWS,), generator=generator)
        ids, segments = (tensor[pick] for tensor in self.kinds[kind])
        longest = int((ids != PAD).sum(dim=1).max())
        return ids[:, :longest], segments[:, :longest]

    def config(self):
        return BERTConfig(self.vocab_size, self.T, **SIZES)

    def tokens(self):
        return [*SPECIAL_TOKENS, *self.ids]


def masked_loss(model, inputs, segments, targets):
    asked = targets != IGNORED
    vectors = model.encode(inputs, segments, padding_mask(inputs, PAD))
    return token_loss(model.lm_head(model.transform(vectors[asked])), targets[asked])


def next_word_loss(model, inputs, segments, targets):
    mask = padding_mask(inputs, PAD) & causal_mask(inputs.shape[1])
    return token_loss(model(inputs, segments, mask), targets)


def fresh(data):
    """The network before any training, its matrices with the standard deviation START."""
    model = BERT(data.config())
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() >= 2:
                p.mul_(START / 0.02)
    return model


def task(data, rows, generator, causal):
    """Inputs, segments and targets: the next words for a GPT, hidden words for a BERT."""
    ids, segments = rows
    if causal:
        later = F.pad(ids[:, 1:], (0, 1), value=PAD)
        return ids, segments, later.masked_fill(later == PAD, IGNORED)
    inputs, targets = mask_tokens(ids, MASK, data.vocab_size, SPECIAL, HIDDEN, generator)
    return inputs, segments, targets


def pretrained(data, seed, steps, lr, causal=False):
    """The network, trained on half pairs and half single texts: as a BERT or as a GPT."""
    torch.manual_seed(seed)
    model = fresh(data)
    config = TrainingConfig(steps=steps, lr=lr, seed=seed, warmup=min(WARMUP, steps // 2))
    loss = next_word_loss if causal else masked_loss
    fit(model, lambda g: task(data, data.draw(g), g, causal), loss, config)
    return model


def filled(data, model, texts, which, alone, causal=False):
    """The share of words that are found when each of the first or second text is hidden in turn."""
    gaps: list[tuple] = []  # ids, segments, place, answer
    for a, b in texts:
        ids, parts = data.row((a, b)[which]) if alone else data.row(a, b)
        start = 1 if alone or which == 0 else len(a) + 2
        for place in range(start, start + len((a, b)[which])):
            gaps.append(([*ids[:place], MASK, *ids[place + 1 :]], parts, place, ids[place]))
    rows, segments, places, answers = map(torch.tensor, zip(*gaps, strict=True))
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


class GapTable:
    """What counts make of an English gap: of its two neighbours, and of the German text as well.

    The neighbours are looked up together; where that was rarely counted, the word behind the left
    one and the word before the right one decide, as if the two had nothing to do with each other.
    """

    def __init__(self, pairs):
        self.total = len(pairs)
        counters: list[collections.Counter] = [collections.Counter() for _ in range(8)]
        self.common, self.left, self.right, self.after, self.before = counters[:5]
        self.english, self.german, self.both = counters[5:]
        self.around: dict[tuple, collections.Counter] = collections.defaultdict(collections.Counter)
        for a, b in pairs:
            words = ["[CLS]", *a, "[SEP]"]
            self.common.update(a)
            self.left.update(itertools.pairwise(words[:-1]))
            self.right.update(itertools.pairwise(words[1:]))
            self.after.update(words[:-2])
            self.before.update(words[2:])
            for left, word, right in zip(words, a, words[2:], strict=False):
                self.around[left, right][word] += 1
            self.english.update(set(a))
            self.german.update(set(b))
            self.both.update(itertools.product(set(a), set(b)))

    def chances(self, left, right, few, fewer):
        """Each word's log probability between these neighbours."""
        total, back = self.common.total(), {}
        for word, n in self.common.items():
            p = n / total
            after = (self.left[left, word] + fewer * p) / (self.after[left] + fewer)
            before = (self.right[word, right] + fewer * p) / (self.before[right] + fewer)
            back[word] = after * before / p
        scale, seen = sum(back.values()), self.around[left, right]
        return {
            word: math.log((seen[word] + few * p / scale) / (seen.total() + few))
            for word, p in back.items()
        }

    def strength(self, x, y):
        """How much more often a German word stands beside an English one than by chance."""
        chance = (self.english[x] + 1) * (self.german[y] + 1) / self.total
        return math.log((self.both[x, y] + 0.1) / chance)

    def beside(self, others, german, known):
        """How strongly the best German word that no other English word explains suggests each."""
        free = [
            y
            for y in set(german)
            if max((self.strength(x, y) for x in others), default=0.0) < known
        ]
        return {
            word: max((self.strength(word, y) for y in free), default=0.0) for word in self.common
        }

    def shares(self, texts, few, fewer, known=1.0, weight=0.0):
        """The share of the words of `texts` that are found when each is hidden in turn."""
        hits = n = 0
        for a, b in texts:
            words = ["[CLS]", *a, "[SEP]"]
            for i, word in enumerate(a):
                scores = self.chances(words[i], words[i + 2], few, fewer)
                if weight:
                    partners = self.beside([*a[:i], *a[i + 1 :]], b, known)
                    scores = {w: score + weight * partners[w] for w, score in scores.items()}
                hits += word == max(scores, key=scores.__getitem__)
                n += 1
        return hits / n


def gap_tables(data, development, tests):
    """The share of English gaps that counts fill, with and without the German."""
    table, few = GapTable(data.pairs), [texts[:100] for texts in development.values()]

    def on_development(settings):
        return sum(table.shares(texts, *settings) for texts in few)

    plain = itertools.product((0.3, 1.0, 3.0, 10.0, 30.0), (1.0, 10.0, 100.0))
    best = max(plain, key=on_development)
    grid = itertools.product((0.5, 1.0, 2.0, 3.0), (1.0, 2.0, 4.0, 8.0, 16.0, 32.0))
    more = max(((*best, known, weight) for known, weight in grid), key=on_development)
    ways = {"neighbours": best, "neighbours and German": more}
    return {
        kind: {name: table.shares(texts, *chosen) for name, chosen in ways.items()}
        for kind, texts in tests.items()
    }


# All of it


def drawn(seed, size):
    """Pairs of each kind whose words are hidden, drawn by this seed and by no other."""
    rng = random.Random(seed)
    return {
        kind: [tuple(t.split() for t in random_sentence(rng, kind)) for _ in range(size["gaps"])]
        for kind in KINDS
    }


def best_rates(data, size, gaps, name):
    """The loss on development pairs after each of the rates, in runs of a quarter of the length."""
    losses = {}
    pairs = [pair for texts in gaps.values() for pair in texts]
    for lr in size["rates"]:
        model = pretrained(data, 100, max(2, size["steps"] // 4), lr, name == "GPT")
        losses[lr] = loss_on(data, model, pairs, name == "GPT")
        print(name, lr, losses[lr], flush=True)
    return losses


def gap_rows(data, models, seed, gaps):
    """How many gaps each model fills, of each kind and language, with the other text and alone."""
    for (name, model), (kind, texts), which, alone in itertools.product(
        models.items(), gaps.items(), (0, 1), (False, True)
    ):
        share = filled(data, model, texts, which, alone, causal=name == "GPT")
        row = {"model": name, "seed": seed, "kind": kind, "text": ("English", "German")[which]}
        yield row | {"alone": alone, "share": round(share, 4)}


def measure(options):
    """What is stored."""
    size = QUICK if options.quick else FULL
    data = Data(size["texts"])
    dev_gaps, gaps = drawn(70, size), drawn(7, size)
    result = {
        "gaps counted": gap_tables(data, dev_gaps, gaps),
        "rates": {name: best_rates(data, size, dev_gaps, name) for name in ("BERT", "GPT")},
        "gaps": [],
    }
    rates = {name: min(losses, key=losses.get) for name, losses in result["rates"].items()}
    for seed in size["seeds"]:
        start = time.perf_counter()
        models = {"BERT": pretrained(data, seed, size["steps"], rates["BERT"])}
        seconds = round(time.perf_counter() - start)
        models["GPT"] = pretrained(data, seed, size["steps"], rates["GPT"], causal=True)
        if options.write and not result["gaps"]:
            ship(data, models["BERT"], size, rates["BERT"], seconds, dev_gaps, gaps, result)
        for row in gap_rows(data, models, seed, gaps):
            result["gaps"].append(row)
            print(row, flush=True)
    return result


def loss_on(data, model, texts, causal=False):
    """Nats for a hidden word of both texts, at the rate of training; to a GPT for the next word."""
    generator = torch.Generator().manual_seed(0)
    asked = task(data, data.rows(texts), generator, causal)
    with eval_mode(model):
        nats, n = (next_word_loss if causal else masked_loss)(model, *asked)
    return round((nats / n).item(), 4)


def ship(data, model, size, lr, seconds, development, tests, result):
    """The BERT of the first seed, rounded to float16, with its words and its record."""
    model = round_to_half(copy.deepcopy(model))
    folder = SHIPPED / NAME
    folder.mkdir(exist_ok=True)
    save_model(folder, copy.deepcopy(model).half())
    runs.store(folder / "tokenizer.json", {"tokenizer": "words", "words": data.tokens()})

    def scores(gaps):
        return {
            kind: {
                "loss": loss_on(data, model, texts),
                "English": round(filled(data, model, texts, 0, False), 4),
                "German": round(filled(data, model, texts, 1, False), 4),
            }
            for kind, texts in gaps.items()
        }

    record = {
        "command": "python -m lab.bert_pretraining --write",
        "parameters": runs.size(model),
        "settings": RECIPE | {"steps": size["steps"], "lr": lr, "texts": size["texts"], "seed": 0},
        "seconds": seconds,
        "development": scores(development),
        "validation": scores(tests),
        "counted": result["gaps counted"],
        "sha256": hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest(),
        **runs.stamp(),
    }
    runs.store(folder / "record.json", record)


main = runs.script(__doc__, "bert_pretraining", measure, SETTINGS)


if __name__ == "__main__":
    main()
