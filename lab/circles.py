"""How often greedy texts circle, and what helps; new words by rule -> measurements/circles.json.

Usage: python -m lab.circles [--quick | --write] [--only PART ...]

For chapter 12. `beginnings`: SmolLM2 goes on from each of BEGINNINGS for NEW tokens: greedy, with
the second likeliest token at one step of PUSHES, with a view of the beginning and the last SEEN
tokens only (from its circles, AFTER more), and by beam search, WIDTH wide. A text circles if of the
runs of RUN tokens in its last LAST more than BAR occurred before in these. `inside`: of DRAWS texts
by each rule, AFTER tokens more from each of these circles, and NEW from its beginning, how many
circle. `alone`: in the last period of these circles, the tokens for which a rule keeps nothing but
the likeliest, and the chance that it draws one more copy. `rules`: three texts by each rule that
draws, and one with the penalty. `writers`: ROWS texts of LINE characters by the small GPT and each
rule, after the BEGIN characters of a passage of Shakespeare's: the share of runs of BLOCK
characters that occurred before, and of words that the training text does not have, beside his
passages; and, of the plain draw's words of 4 to 6 letters, how many have a character beyond the ten
likeliest. `widths`: the same share in the texts that beam search finds for the first seed's
passages, and how much likelier they are than the greedy ones. `heads`: the induction heads, found
as in chapter 07 (TWICE random tokens, said twice: more than WEIGHT on what came next last time). In
the circles and in draws from the same beginnings, their weight one period back and at any number of
periods; the chance of the circle's tokens in its last period, and of the draws' (a geometric mean),
without these heads, and without as many others of the same blocks, SETS times; and how many texts
circle after greedy decoding without them, or OTHERS.
"""

import argparse
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from scratchformer.attention import recorded_attention
from scratchformer.data import load_corpus, train_val_split
from scratchformer.generation import generate
from scratchformer.models import GPT, Llama
from scratchformer.models.heads import silenced
from scratchformer.tokenizers import ByteBPE, CharTokenizer

MODEL, SMALL = "smollm2-135m-instruct", "tiny-shakespeare"
BEGINNINGS = (
    "It was a dark and stormy night.",
    "The old man opened the heavy door.",
    "I have never seen the blue sea.",
    "The train was an hour late again.",
    "We walked through the dark green forest.",
    "The city was silent in the morning.",
    "He came home from the long war.",
    "There is a house near the river.",
    "My brother has a small red boat.",
)  # eight tokens each
NEW, PUSHES, SEEN, AFTER, WIDTH = 80, (4, 12, 16, 28), 6, 40, 4
RUN, LAST, BAR = 4, 40, 0.4
STORY, PENALTY = 32, 1.2
NUCLEI = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
RULES: dict[str, dict[str, Any]] = {
    "greedy": {"k": 1},
    "plain draw": {},
    "τ = 0.7": {"tau": 0.7},
    "k = 10": {"k": 10},
    "m = 0.1": {"m": 0.1},
    **{f"p = {p}": {"p": p} for p in NUCLEI},
}
WITHIN, DRAWS = ("plain draw", "k = 10", "p = 0.9", "m = 0.1"), 8
TOLD: dict[str, dict[str, float]] = {
    "plain draw": {},
    "p = 0.9": {"p": 0.9},
    "m = 0.1": {"m": 0.1},
}
SEEDS, ROWS, BEGIN, LINE, BLOCK, TAIL = range(10), 24, 9, 256, 8, 10
WIDTHS = (2, 4, 8, 16, 32)
TWICE, WEIGHT, SETS, OTHERS = 50, 0.4, 20, 5
SETTINGS = {
    "beginnings": runs.settings_of(
        globals(), "MODEL BEGINNINGS NEW PUSHES SEEN AFTER WIDTH RUN LAST BAR"
    ),
    "inside": runs.settings_of(globals(), "MODEL WITHIN DRAWS NEW AFTER RUN LAST BAR"),
    "alone": runs.settings_of(globals(), "MODEL WITHIN NEW RUN LAST BAR"),
    "rules": {"model": MODEL, "rules": TOLD, "new": STORY, "penalty": PENALTY, "run": RUN},
    "writers": runs.settings_of(globals(), "SMALL RULES SEEDS ROWS BEGIN LINE BLOCK TAIL"),
    "widths": runs.settings_of(globals(), "SMALL WIDTHS ROWS BEGIN LINE BLOCK"),
    "heads": runs.settings_of(globals(), "MODEL TWICE WEIGHT SETS OTHERS NEW AFTER RUN LAST BAR"),
}
Heads = Sequence[tuple[int, int]]  # (block, head), from 1
Pick = Callable[[Tensor], Tensor]  # logits (B, V) -> (B, 1)


def repeated(ids: Sequence[int], n: int = RUN) -> float:
    """The share of runs of n tokens that occurred before in these."""
    found = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return 1 - len(set(found)) / len(found)


def circles(ids: Sequence[int]) -> bool:
    return repeated(ids[-LAST:]) > BAR


@torch.no_grad()
def write(model: Llama | GPT, ids: Tensor, n: int, pick: Pick) -> Tensor:
    cache: Any = model.new_cache()
    for _ in range(n):
        logits = model(ids[:, len(cache[0]) :], cache)[:, -1]  # (B, V)
        ids = torch.cat([ids, pick(logits)], dim=1)
    return ids


def greedy(logits: Tensor) -> Tensor:
    return logits.argmax(dim=-1, keepdim=True)


def pushed_at(steps: Tensor) -> Pick:
    """Greedy, but for row b the second likeliest token at its step."""
    step = -1

    def pick(logits: Tensor) -> Tensor:
        nonlocal step
        step += 1
        return logits.topk(2).indices.gather(1, (steps == step).long()[:, None])

    return pick


def likely(logits: Tensor, tau: float = 1.0, k: int = 0, p: float = 1.0, m: float = 0.0) -> Tensor:
    """What a cut keeps: the k likeliest, the nucleus p, or m times the likeliest. Not rescaled."""
    chances = (logits / tau).softmax(dim=-1)
    ranked, order = chances.sort(dim=-1, descending=True)
    ranked = ranked.where(ranked.cumsum(dim=-1) - ranked < p, 0)
    if k:
        ranked[:, k:] = 0
    ranked = ranked.where(ranked >= m * ranked[:, :1], 0)
    return torch.zeros_like(chances).scatter(1, order, ranked)


def drawing(seed: int, **rule: Any) -> Pick:
    """A draw, after one of the cuts."""
    g = torch.Generator().manual_seed(seed)
    return lambda logits: torch.multinomial(likely(logits, **rule), 1, generator=g)  # rescales


@torch.no_grad()
def beam(model: Llama | GPT, ids: Tensor, n: int, width: int) -> tuple[list[int], float]:
    """The likeliest of `width` texts that grow together, and ln of its probability."""
    ln_p = torch.zeros(1)
    cache: Any = model.new_cache()  # its buffers follow the texts that stay
    for _ in range(n):
        logits = model(ids[:, len(cache[0]) :], cache)[:, -1]
        scores = ln_p[:, None] + logits.log_softmax(dim=-1)  # (W, V)
        ln_p, best = scores.flatten().topk(width)
        kept, new = best // logits.shape[1], best % logits.shape[1]
        ids = torch.cat([ids[kept], new[:, None]], dim=1)
        for part in cache:
            part.k_buffer, part.v_buffer = part.k_buffer[kept], part.v_buffer[kept]
    return ids[0].tolist(), ln_p[0].item()


@torch.no_grad()
def with_short_view(model: nn.Module, ids: Tensor, begin: int, n: int) -> Tensor:
    """Greedy, but each token is chosen from the beginning and the last SEEN tokens alone."""
    for _ in range(n):
        seen = torch.cat([ids[:, :begin], ids[:, -SEEN:]], dim=1)
        ids = torch.cat([ids, greedy(model(seen)[:, -1])], dim=1)
    return ids


def beginnings(options: argparse.Namespace) -> dict[str, Any]:
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    texts = BEGINNINGS[: 2 if options.quick else None]
    new = LAST if options.quick else NEW
    start = torch.tensor([tok.encode(text) for text in texts])  # (9, 8)
    begin = start.shape[1]
    plain = write(model, start, new, greedy).tolist()
    at = [i for i, row in enumerate(plain) if circles(row)]
    again: list[int] = []
    for step in PUSHES:
        pushed = write(model, start, new, pushed_at(torch.full((len(texts),), step))).tolist()
        again.append(sum(circles(pushed[i]) for i in at))
    near = torch.tensor(plain)[at]
    short = with_short_view(model, near, begin, AFTER).tolist()
    left = sum(row[-16:] not in (row[i : i + 16] for i in range(begin + new - 16)) for row in short)
    beams = []
    for ids in start:
        one, ln_1 = beam(model, ids[None], new, 1)
        best, ln_w = beam(model, ids[None], new, WIDTH)
        beams.append({
            "text": tok.decode(best[begin:]), "greedy": tok.decode(one[begin:]),
            "ln p": round(ln_w, 2), "greedy ln p": round(ln_1, 2),
            "circles": circles(best), "repeated": round(repeated(best[begin:]), 2),
        })  # fmt: skip
        print(beams[-1], flush=True)
    return {
        "circles": at,
        "again": again,
        "left": left,
        "in another": sum(circles(row) for row in short),
        "beams": beams,
    }


def inside(options: argparse.Namespace) -> dict[str, Any]:
    """Texts that circle after a draw by each rule: from within a circle, and from its beginning."""
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    texts = BEGINNINGS[: 1 if options.quick else None]
    new, draws = (LAST, 2) if options.quick else (NEW, DRAWS)
    start = torch.tensor([tok.encode(text) for text in texts])
    plain = write(model, start, new, greedy)
    at = [i for i, row in enumerate(plain.tolist()) if circles(row)]
    found: dict[str, dict[str, int]] = {"from the circle": {}, "from the beginning": {}}
    for name in WITHIN:
        for where, ids, n in (
            ("from the circle", plain[at], AFTER),
            ("from the beginning", start[at], new),
        ):
            rows = write(model, ids.repeat(draws, 1), n, drawing(0, **RULES[name]))
            found[where][name] = sum(map(circles, rows.tolist()))
        print(name, {where: counts[name] for where, counts in found.items()}, flush=True)
    return {"texts": len(at) * draws} | found


@torch.no_grad()
def alone(options: argparse.Namespace) -> dict[str, Any]:
    """Of each circle's last copy: the tokens that a rule keeps alone, and the copy's chance."""
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    texts = BEGINNINGS[: 1 if options.quick else None]
    start = torch.tensor([tok.encode(text) for text in texts])
    rows = write(model, start, LAST if options.quick else NEW, greedy)
    rows = rows[[i for i, row in enumerate(rows.tolist()) if circles(row)]]
    periods = [period_of(row) for row in rows.tolist()]
    found: dict[str, Any] = {"tokens": periods}
    for name in WITHIN:
        kept = [
            likely(model(ids[None])[0, -n - 1 : -1], **RULES[name])
            for ids, n in zip(rows, periods, strict=True)
        ]
        kept = [p / p.sum(dim=-1, keepdim=True) for p in kept]
        copies = [
            p.gather(1, ids[-n:, None]).prod().item()
            for p, ids, n in zip(kept, rows, periods, strict=True)
        ]
        found[name] = {
            "alone": [((p > 0).sum(dim=-1) == 1).sum().item() for p in kept],
            "copy": [round(p, 3) for p in copies],
        }
        print(name, found[name], flush=True)
    return found


@torch.no_grad()
def maps_of(model: Llama, ids: Tensor) -> Tensor:
    """Attention weights (blocks, B, H, T, T)."""
    with recorded_attention(model) as maps:
        model(ids)
    return torch.stack(list(maps.values()))


def induction_heads(model: Llama) -> list[tuple[int, int]]:
    """As in chapter 07: of random tokens, said twice, they look at what came next last time."""
    g = torch.Generator().manual_seed(0)
    once = torch.randint(1000, 40_000, (4, TWICE), generator=g)
    weight = maps_of(model, torch.cat([once, once], dim=1)).diagonal(1 - TWICE, -2, -1)
    found = (weight[..., 16:].mean(dim=(1, 3)) > WEIGHT).nonzero() + 1  # of (blocks, H)
    return [(block, head) for block, head in found.tolist()]


def others_of(copying: Heads, n_heads: int, seed: int) -> list[tuple[int, int]]:
    """As many other heads of each block."""
    draw, found = random.Random(seed), []
    for block in sorted({block for block, _ in copying}):
        rest = [head for head in range(1, n_heads + 1) if (block, head) not in copying]
        found += [(block, head) for head in draw.sample(rest, n_heads - len(rest))]
    return found


def period_of(ids: Sequence[int]) -> int:
    """The smallest p for which the last p tokens are those before them."""
    return next(p for p in range(2, len(ids) // 2) if ids[-p:] == ids[-2 * p : -p])


def looking(model: Llama, texts: Tensor, periods: Sequence[int], heads: Heads) -> dict[str, Any]:
    """The heads' mean weight one period back, and any number of periods, in each text's end."""
    found: dict[str, list[float]] = {"one": [], "some": []}
    for ids, period in zip(texts, periods, strict=True):
        maps = maps_of(model, ids[None])[:, 0]  # (blocks, H, T, T)
        t = torch.arange(len(ids) - LAST + 8, len(ids))
        back = [maps[:, :, t, t - n + 1] for n in range(period, int(t[0]) + 2, period)]
        for name, kept in (("one", back[0]), ("some", torch.stack(back).sum(dim=0))):
            mean = kept.mean(dim=-1)  # (blocks, H)
            total = sum(mean[block - 1, head - 1].item() for block, head in heads)
            found[name].append(round(total / len(heads), 3))
    return found


@torch.no_grad()
def chances(model: Llama, rows: Tensor, periods: Sequence[int], drawn: Tensor) -> dict[str, Any]:
    """Of a circle's last period: the mean chance of a token, and of it all; of a drawn token."""
    (ln_p, ln_d) = (
        model(ids).log_softmax(dim=-1)[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
        for ids in (rows, drawn)
    )
    last = [row[-period:] for row, period in zip(ln_p, periods, strict=True)]
    return {
        "token": [round(row.exp().mean().item(), 3) for row in last],
        "copy": [round(row.sum().exp().item(), 3) for row in last],
        "drawn": round(ln_d[:, 7:].mean().exp().item(), 4),
    }


def still_circling(model: Llama, rows: Tensor, start: Tensor, new: int) -> dict[str, int]:
    on, anew = write(model, rows, AFTER, greedy), write(model, start, new, greedy)
    return {
        "from the circle": sum(map(circles, on.tolist())),
        "anew": sum(map(circles, anew.tolist())),
    }


def heads(options: argparse.Namespace) -> dict[str, Any]:
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    texts = BEGINNINGS[: 1 if options.quick else None]
    new, sets, others = (LAST, 2, 1) if options.quick else (NEW, SETS, OTHERS)
    copying = induction_heads(model)
    start = torch.tensor([tok.encode(text) for text in texts])
    rows = write(model, start, new, greedy)
    rows = rows[[i for i, row in enumerate(rows.tolist()) if circles(row)]]
    drawn = write(model, rows[:, : start.shape[1]], new, drawing(0))
    periods = [period_of(row) for row in rows.tolist()]

    drawn_sets = [others_of(copying, model.config.n_heads, seed) for seed in range(sets)]

    def without(silent: Heads, measure: Callable[..., Any], *given: Any) -> Any:
        with silenced(model, silent):
            return measure(model, *given)

    def compared(measure: Callable[..., Any], n_sets: int, *given: Any) -> dict[str, Any]:
        return {
            "all heads": measure(model, *given),
            "without": without(copying, measure, *given),
            "without others": [without(of, measure, *given) for of in drawn_sets[:n_sets]],
        }

    return {
        "heads": copying,
        "of": model.config.n_heads * len(model.layers),
        "periods": periods,
        "looking": {
            "circle": looking(model, rows, periods, copying),
            "draw": looking(model, drawn, periods, copying),
        },
        "chances": compared(chances, sets, rows, periods, drawn),
        "circling": compared(still_circling, others, rows, start, new),
    }


def rules(options: argparse.Namespace) -> dict[str, Any]:
    """The largest share of repeated runs in three texts by each rule."""
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    begin = torch.tensor([tok.encode(BEGINNINGS[0])])
    n = 8 if options.quick else STORY
    found = {}
    for name, given in TOLD.items():
        rows = write(model, begin.repeat(3, 1), n, drawing(0, **given)).tolist()
        found[name] = round(max(repeated(row) for row in rows), 2)
    row = generate(model, begin, n, temperature=0, repetition_penalty=PENALTY)[0].tolist()
    return {"repeated": found | {"penalty": round(repeated(row), 2)}}


def words(text: str) -> list[str]:
    return re.findall("[a-z']+", text.lower())


def passages(tok: CharTokenizer, val: Tensor, seed: int, n: int) -> Tensor:
    """n passages of LINE characters, each from the beginning of a line: (n, LINE)."""
    line_ends = (val[:-LINE] == tok.encode("\n")[0]).nonzero()  # (N, 1)
    g = torch.Generator().manual_seed(seed)
    return val[line_ends[torch.randint(len(line_ends), (n,), generator=g)] + 1 + torch.arange(LINE)]


def writers(options: argparse.Namespace) -> dict[str, Any]:
    gpt, tok = GPT.pretrained(SMALL).eval(), CharTokenizer.pretrained(SMALL)
    ids = torch.tensor(tok.encode(load_corpus("tinyshakespeare").text))
    train, val = train_val_split(ids, 0.9)
    known = set(words(tok.decode(train.tolist())))
    seeds = range(2) if options.quick else SEEDS
    n_rows, new = (2, 40) if options.quick else (ROWS, LINE - BEGIN)

    def new_share(rows: list[list[int]]) -> float:
        """Of the whole words after the beginning, those that are not known."""
        found = [w for row in rows for w in words(tok.decode(row[BEGIN:]))[1:-1]]
        return round(sum(w not in known for w in found) / len(found), 4)

    names = [*RULES, "Shakespeare"]
    again: dict[str, list[float]] = {name: [] for name in names}
    shares: dict[str, list[float]] = {name: [] for name in names}
    met: dict[str, list[float]] = {"new": [], "known": []}
    for seed in seeds:
        his = passages(tok, val, seed, n_rows)
        for name in names:
            pick = drawing(seed, **RULES.get(name, {}))
            drawn = his if name == "Shakespeare" else write(gpt, his[:, :BEGIN], new, pick)
            rows = drawn.tolist()
            shares[name].append(new_share(rows))
            again[name].append(round(sum(repeated(row, BLOCK) for row in rows) / n_rows, 4))
            if name == "plain draw":
                pairs = met_tail(gpt, tok, drawn)
                for kind, hit_shares in met.items():
                    hits = [tail for w, tail in pairs if (w not in known) == (kind == "new")]
                    hit_shares.append(round(sum(hits) / max(1, len(hits)), 4))
            print(seed, name, again[name][-1], shares[name][-1], flush=True)
    return {"repeated": again, "new": shares, "met the tail": met}


def widths(options: argparse.Namespace) -> dict[str, Any]:
    gpt, tok = GPT.pretrained(SMALL).eval(), CharTokenizer.pretrained(SMALL)
    val = train_val_split(torch.tensor(tok.encode(load_corpus("tinyshakespeare").text)), 0.9)[1]
    n_rows, new = (2, 40) if options.quick else (ROWS, LINE - BEGIN)
    starts = passages(tok, val, 0, n_rows)[:, :BEGIN]
    greedy_texts = [beam(gpt, ids[None], new, 1) for ids in starts]
    found = {}
    for width in WIDTHS[: 2 if options.quick else None]:
        texts = [beam(gpt, ids[None], new, width) for ids in starts]
        gain = [ours[1] - theirs[1] for ours, theirs in zip(texts, greedy_texts, strict=True)]
        again = sum(repeated(row, BLOCK) for row, _ in texts) / n_rows
        found[width] = {
            "repeated": round(again, 4),
            "likelier": sum(x > 0 for x in gain),
            "ln gained": round(sum(gain) / n_rows, 1),
        }
        print(width, found[width], flush=True)
    again = sum(repeated(row, BLOCK) for row, _ in greedy_texts) / n_rows
    return {"greedy": round(again, 4), "texts": n_rows, "widths": found}


def met_tail(gpt: nn.Module, tok: CharTokenizer, rows: Tensor) -> list[tuple[str, bool]]:
    """The drawn words of 4 to 6 letters, and whether one of their letters was of the tail."""
    found = []
    with torch.no_grad():
        z = gpt(rows[:, :-1])  # (R, T - 1, V)
    rare = (z > z.gather(2, rows[:, 1:, None])).sum(dim=2) >= TAIL  # (R, T - 1)
    for row, in_tail in zip(rows.tolist(), rare.tolist(), strict=True):
        for word in re.finditer("[a-z']+", text := tok.decode(row).lower()):
            first, end = word.span()  # in_tail[i] is of character i + 1
            if first > BEGIN and end < len(text) and 3 < end - first < 7:
                found.append((word[0], any(in_tail[first - 1 : end - 1])))
    return found


PARTS = {
    "beginnings": beginnings,
    "inside": inside,
    "alone": alone,
    "rules": rules,
    "writers": writers,
    "widths": widths,
    "heads": heads,
}
main = runs.script(__doc__, "circles", PARTS, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
