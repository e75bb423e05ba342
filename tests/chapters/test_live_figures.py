"""What live figures compute in JavaScript is what Python computes: a row for each computation."""

import itertools
import math
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import astuple

import numpy as np
import pytest
import torch

from scratchformer import scaling
from scratchformer.attention import causal_mask, scaled_dot_product_attention
from scratchformer.models import GPT, GPTConfig
from scratchformer.positions import rotary, sinusoidal
from scratchformer_course.ch00_primer.live import DEGREES
from scratchformer_course.ch01_bpe.live import label
from scratchformer_course.ch02_embeddings.exercises import right_pairs_of
from scratchformer_course.ch02_embeddings.live import load_map, word_map
from scratchformer_course.ch03_positions.live import PAPER, STOPS, judged
from scratchformer_course.ch04_first_network.way_back import way_back
from scratchformer_course.ch05_averaging.exercises import right_masked_softmax
from scratchformer_course.ch13_bert.composed import NOUNS, VERBS, composed
from scratchformer_course.ch13_bert.live import cosine_of
from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.ch16_scaling.live import wasted
from scratchformer_course.ch19_since_gpt2.live import PARTS, lines
from scratchformer_course.ch20_inference.counts import describe_counts, guess, unpacked
from scratchformer_course.ch20_inference.live import BITS, PASSAGE, size
from scratchformer_course.ch23_thinking.cups import CUP, NAMES, games
from scratchformer_course.ch23_thinking.live import score
from scratchformer_course.ch24_inside.live import copied, repeats, silence
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.fewer_bits import SHARED, rounded
from scratchformer_course.pages.side_by_side.live import kept
from tests.node import Node

MODEL = [f"page_model/{name}.js" for name in ("model", "tokenizer", "explorer")]
Pairs = Iterator[tuple[tuple, object]]  # (arguments, what Python makes of them)
FIGURES: dict[str, tuple[str, str, float, Callable[[random.Random], Pairs]]] = {}


def figure(folder: str, function: str, tolerance: float = 1e-6):
    """A row: a function in JavaScript; F is what a folder's `live.js`, or a script, defines."""

    def enter(pairs: Callable[[random.Random], Pairs]) -> None:
        FIGURES[pairs.__name__] = (folder, function, tolerance, pairs)

    return enter


def is_close(shown: object, expected: object, tolerance: float) -> bool:
    """Whether all numbers are equal up to the tolerance, and all else exactly."""
    if isinstance(expected, dict):
        return all(is_close(shown[name], expected[name], tolerance) for name in expected)
    if isinstance(expected, list | tuple):
        pairs = itertools.zip_longest(shown, expected)
        return all(is_close(a, b, tolerance) for a, b in pairs)
    if isinstance(expected, float):
        return abs(shown - expected) <= tolerance * max(1, abs(expected))
    return shown == expected


@figure("ch00_primer", "F.subtract")
def differences_of_two_shapes(draw):
    """In every state of the figure: PyTorch's shape, numbers and mean, or its message."""
    numbers, states = DEGREES, [*itertools.product((1, 2, 3, 4), (False, True))]
    for sides in itertools.product(states, repeat=2):
        said, was = (
            torch.tensor(numbers[:size]).double().view(-1, *[1] * keepdim)
            for size, keepdim in sides
        )
        given = [{"size": size, "keepdim": keepdim} for size, keepdim in sides]
        try:
            difference = said - was
        except RuntimeError as error:
            yield (numbers, *given), {"error": str(error), "rows": []}
            continue
        rows = difference.view(-1, difference.shape[-1]).tolist()
        loss = difference.square().mean().item()
        told = {"error": "", "shape": list(difference.shape), "rows": rows, "loss": loss}
        yield (numbers, *given), told


@figure("ch00_primer", "F.score")
def losses_of_a_column(draw):
    """What PyTorch says of a forecast with the chapter's bug."""
    measured = torch.tensor(DEGREES[:3]).double()
    for said in itertools.product((14, 17, 20, 26), repeat=3):
        column = torch.tensor(said).double()[:, None]
        yield (list(said), DEGREES[:3]), (column - measured).square().mean().item()


@figure("ch01_bpe", "F.label", 0)
def how_a_token_is_written(draw):
    tokens = [bytes([i]) for i in range(256)]
    tokens += [text.encode() for text in ("a\n\t", "\ufeff", "é", "\u00a0", "\u200d", "🎭 語")]
    for token in tokens:
        yield (token.decode("latin-1"),), label(token).replace(" ", "·")


@figure(
    "ch02_embeddings",
    """(settings, word) => {
      const map = F.load(settings), id = map.ids.get(word);
      const near = F.ranked(map, map.unit[id], [id]).slice(0, 8);
      return [map.places, near.map(({ id, cosine }) => [map.words[id], cosine])]; }""",
    1e-5,
)
def nearest_words(draw):
    stored, settings = load_map(), word_map().settings
    places = [[x / 1000, y / 1000] for x, y in stored.places]
    for word in ("tears", "king", "hand"):
        yield (settings, word), [places, [tuple(near) for near in stored.nearest(word, 8)]]


@figure(
    "ch03_positions",
    """(t, u, C) => {
      const [a, b] = [F.encoding(t, C, 10000), F.encoding(u, C, 10000)];
      const products = F.products(a, b);
      return [a, products, F.sum(products)]; }""",
    1e-5,
)
def clock_hands(draw):
    for _ in range(100):
        t, u, C = draw.randrange(1000), draw.randrange(1000), 2 * draw.randrange(1, 20)
        a, b = sinusoidal(1000, C).double()[[t, u]]
        products = (a * b).view(-1, 2).sum(dim=1).tolist()
        yield (t, u, C), [a.tolist(), products, (a @ b).item()]


@figure("ch03_positions", "(speeds) => F.judged(F.dots(speeds, 1000), 20)")
def places_that_three_speeds_confuse(draw):
    yield ([STOPS[stop] for stop in PAPER],), judged([STOPS[stop] for stop in PAPER])
    for _ in range(30):
        speeds = draw.sample(STOPS, 3)
        yield (speeds,), judged(speeds)


def descend(w: float, rate: float, steps: int, lowest: float = 3.0) -> list[float]:
    """Where gradient descent comes to on (w - lowest)², step by step."""
    weights = [w]
    for _ in range(steps):
        weights.append(weights[-1] - rate * 2 * (weights[-1] - lowest))
    return weights


@figure(
    "ch04_first_network",
    "(...run) => [F.descend(...run), F.slopeAt(1, run[3]), F.lossAt(1, run[3])]",
    1e-12,
)
def gradient_descent(draw):
    for _ in range(100):
        w, rate, lowest = draw.uniform(-9, 9), draw.uniform(0, 1.2), draw.uniform(-5, 5)
        run = w, rate, draw.randrange(61), lowest
        yield run, [descend(*run), 2 * (1 - lowest), (1 - lowest) ** 2]


@figure(
    "ch04_first_network/tape",
    """inputs => [F.forward(inputs).loss, Object.fromEntries(
        F.wayBack(F.forward(inputs)).flatMap(({ gets }) => gets.map((g) => [g[0], g[4]])))]""",
    1e-9,
)
def slopes_of_the_tape(draw):
    for _ in range(60):
        numbers = [draw.uniform(-5, 5) for _ in range(3)]
        a, w1, w2 = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in numbers)
        h = w1 * a
        s = w2 * h
        loss = (s - 1) ** 2
        nodes = {"loss": loss, "s": s, "w2": w2, "h": h, "w1": w1, "a": a}
        slopes = torch.autograd.grad(loss, list(nodes.values()))
        expected = {name: slope.item() for name, slope in zip(nodes, slopes, strict=True)}
        still = {step.node: step.slope for step in way_back(*numbers)}
        assert is_close(still, {name: expected[name] for name in still}, 1e-9)
        yield (dict(zip(("a", "w1", "w2"), numbers, strict=True)),), [loss.item(), expected]


@figure("ch05_averaging", "F.mix", 1e-12)
def mixtures(draw):
    g = torch.Generator().manual_seed(0)
    for i in range(60):
        T, C = draw.randint(1, 6), draw.randint(1, 3)
        scores, x = (torch.randn(size, generator=g).double() for size in ((1, T), (T, C)))
        mask = torch.rand(1, T, generator=g) > i / 60
        mask[0, 0] = True
        weights = right_masked_softmax(scores, mask)
        expected = {"weights": weights, "mixture": weights @ x, "powers": scores.exp() * mask}
        given = scores[0].tolist(), mask[0].tolist(), x.tolist()
        yield given, {name: value[0].tolist() for name, value in expected.items()}


@figure("ch06_self_attention", "F.attend", 1e-4)
def steps_of_attention(draw):
    g = torch.Generator().manual_seed(0)
    for i in range(80):
        T, C, D, E = (draw.randint(1, most) for most in (8, 9, 3, 3))
        sizes = {"x": (T, C), "W_q": (C, D), "W_k": (C, D), "W_v": (C, E)}
        scale = (0.3, 1, 5, 30)[i % 4]  # up to weights that are all or nothing
        given = {n: scale * torch.randn(s, generator=g).double() for n, s in sizes.items()}
        x, *matrices = given.values()
        q, k, v = (x @ matrix for matrix in matrices)
        mask = causal_mask(T) if i < 40 else None
        context, weights = scaled_dot_product_attention(q, k, v, mask)
        steps = {"q": q, "k": k, "v": v, "scores": q @ k.T, "scaled": q @ k.T / D**0.5}
        steps |= {"weights": weights, "context": context}
        plain = ({name: m.tolist() for name, m in part.items()} for part in (given, steps))
        given, expected = plain
        yield (given, mask is not None), expected


@figure("ch06_self_attention", "F.difference")
def weights_that_an_edit_changes(draw):
    before, after = [[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0.98, 0.02]]
    yield (before, after), {"cells": [[False, False], [True, True]], "rows": [1], "count": 2}
    yield (after, after), {"cells": [[False, False], [False, False]], "rows": [], "count": 0}


@figure("ch06_self_attention", "F.turned")
def hands_that_turn(draw):
    for _ in range(20):
        T, step = draw.randint(1, 8), draw.uniform(0, 3)
        x = [[draw.random() for _ in range(4)] for _ in range(T)]
        hands = [[math.cos(t * step), math.sin(t * step)] for t in range(T)]
        yield (x, step), [word[:2] + hand for word, hand in zip(x, hands, strict=True)]


@figure(
    "ch08_rotary",
    """(q, k, m, n) => [F.rotate(q, m), F.rotate(k, n), F.score(q, k, 1, m, n),
      Math.cos(F.angleBetween(q, k))]""",
)
def turned_pairs(draw):
    for n in range(100):
        m, (q, k) = draw.randrange(200), ([draw.uniform(-3, 3) for _ in "xy"] for _ in "qk")
        pairs = torch.tensor([[q], [k]], dtype=torch.float64)
        turned = rotary(pairs[0], offset=m)[0], rotary(pairs[1], offset=n)[0]
        angle = torch.cosine_similarity(*pairs).item()
        expected = [*(pair.tolist() for pair in turned), (turned[0] @ turned[1]).item(), angle]
        yield (q, k, m, n), expected


@figure("ch08_rotary/far_start", "(n) => F.stepAt(n, 23)", 0)
def steps_between_angles(draw):
    for n in (1.0, 1000.0, 1e7, 1e8):
        at = np.float32(n)
        yield (n,), (np.nextafter(at, np.float32(np.inf)) - at).item()


@figure("ch09_block/fold", "(...given) => Object.values(F.BENDS).map((f) => f(F.sumAt(...given)))")
def bends_of_a_sum(draw):
    for _ in range(50):
        at, zero, one = (torch.tensor([draw.uniform(-1, 2) for _ in "xy"]).double() for _ in "abc")
        total = (at - zero) @ (one - zero) / (one - zero).square().sum()
        gelu = torch.nn.functional.gelu(4 * total, approximate="tanh") / 4
        yield (
            [p.tolist() for p in (at, zero, one)],
            [n.item() for n in (total, total.relu(), gelu)],
        )


@figure("ch14_encoder_decoder/hidden_source", "F.most", 0)
def words_that_german_ones_read(draw):
    for _ in range(50):
        rows = [[draw.randrange(101) for _ in range(8)] for _ in range(draw.randrange(8))]
        yield (rows,), [row.index(max(row)) for row in rows]


@figure("ch14_encoder_decoder", "F.swap", 0)
def parts_of_a_recording(draw):
    for _ in range(50):
        samples = [draw.randrange(256) for _ in range(draw.randrange(1, 30))]
        cut = draw.randrange(len(samples) + 1)
        yield (samples, cut / len(samples)), samples[cut:] + samples[:cut]


@figure("ch14_encoder_decoder", "(samples) => [...F.wav(Uint8Array.from(samples))]", 0)
def a_wav_file_in_mu_law(draw):
    for n in (0, 1, 500):
        samples = draw.randbytes(n)
        kind = struct.pack("<4sIHHIIHH", b"fmt ", 16, 7, 1, 16_000, 16_000, 1, 8)
        body = b"WAVE" + kind + struct.pack("<4sI", b"data", n) + samples
        yield ([*samples],), [*struct.pack("<4sI", b"RIFF", len(body)), *body]


PACKAGE = {  # its names of parts, where the figure has others
    "token table": "token embedding",
    "position table": "position embedding",
    "attention's matrices": "attention projections",
    "scores and mixing": "attention scores and mixing",
}
PARAMETERS = ("token table", "position table", "attention", "feed-forward", "norms")
OPERATIONS = ("attention's matrices", "scores and mixing", "feed-forward", "output head")


@figure(
    "ch15_costs",
    """(size, most) => {
      const held = F.memory(size, 3);
      return [F.parameters(size), F.operations(size), F.largestBatch(most, size),
        held.weights + held.gradients + held.optimiser,
        held.activations + held["three tables of logits"]]; }""",
    0,
)
def costs_of_a_gpt(draw):
    """By the rule of the chapter: 16 bytes a parameter, 4 ((16 L + 2) C + 3 V) a token."""
    for i in range(60):
        V, T = draw.randint(2, 60_000), draw.choice((1, 7, 64, 1024, 2048))
        C, L = 16 * draw.randint(1, 300), draw.randint(1, 48)
        if i == 0:
            V, T, C, L = 65, 64, 48, 3
        config = GPTConfig(V, T, C, n_heads=1, n_layers=L)
        counted, forward = scaling.count_parameters(config), scaling.forward_flops(config)
        parameters = {name: counted[PACKAGE.get(name, name)] for name in PARAMETERS}
        operations = {name: 3 * forward[PACKAGE.get(name, name)] // T for name in OPERATIONS}
        most = draw.choice((10**7, 8 * 10**9, 24 * 10**9, 80 * 10**9)) if i else 10**7
        n, text = sum(counted.values()), T * 4 * ((16 * L + 2) * C + 3 * V)
        fits = max(0, (most - 16 * n) // text)
        assert i or fits == 12
        sizes = {"vocab_size": V, "context_length": T, "d_model": C, "n_layers": L}
        yield (sizes, most), [parameters, operations, fits, 16 * n, 3 * text]


@figure(
    "ch16_scaling",
    """(law) => [F.loss(law, 3e4, 7e5), F.best(law, 5e10), F.best(law, 2e13),
      F.wasted(law, 5e11, 9e4)]""",
    1e-9,
)
def a_budget_spent(draw):
    for _ in range(60):
        E, alpha, beta, gamma = (
            draw.uniform(*ends) for ends in ((0, 1), (0.2, 1), (0.2, 1), (0.3, 3))
        )
        N0, D0 = 10 ** draw.uniform(2, 4), 10 ** draw.uniform(4, 6)
        law = JointLaw(E, N0, alpha, D0, beta, gamma)
        best = [law.best_size(C) for C in (5e10, 2e13)]
        yield (astuple(law),), [float(law(3e4, 7e5)), *best, wasted(law, 5e11, 9e4)]


@figure("ch19_since_gpt2", "(answers, on) => F.storedRun(answers, new Set(on))[0].sort()")
def answers_of_a_set_of_switches(draw):
    answers = lines(load_measurements("real_lines")).settings["said"]
    for n in range(5):
        for on in itertools.combinations(sorted(PARTS), n):
            yield (answers, on), list(on)


@figure("pages/side_by_side/live", "F.kept")
def bytes_kept_of_a_text(draw):
    for model in load_measurements("models_of_today")["of"].values():
        for tokens in (1, 100, 5000, draw.randint(1, 10**6)):
            yield (model, tokens), kept(model, tokens)


@figure("ch20_inference", "(texts, text, n) => F.guess(F.unpack(texts), text, n)")
def guesses_of_the_draft(draw):
    texts, text = describe_counts()["tables"], PASSAGE + "zq?zzqqx"
    for _ in range(20):
        beginning, longest = text[: draw.randint(0, len(text))], draw.choice((0, 3, 5))
        yield (texts, beginning, longest), guess(unpacked(texts), beginning, longest)


@figure(
    "ch20_inference",
    """(t) => F.asProbabilities([["b", 0.75], ["a", 0.25]], (c) => "abc".indexOf(c), 3, t)""",
)
def a_draft_at_a_temperature(draw):
    yield (0,), [0, 1, 0]
    yield (0.5,), [0.1, 0.9, 0.0]
    yield (1,), [0.25, 0.75, 0.0]


@figure(
    "ch20_inference",
    "(weights, ...how) => F.rounded(Float32Array.from(weights), [6, 64], ...how)",
    0,
)
def weights_in_fewer_bits(draw):
    weight = (torch.randn(6, 64, generator=torch.Generator().manual_seed(0)) * 0.1).half().float()
    weight[1] = 0
    weight[2] = torch.arange(64) / 64  # many lie just between two
    weight[3] *= 1e-6  # a scale below the normal float16
    for bits, shared in itertools.product(BITS[1:], SHARED):
        expected = rounded(weight, bits, shared).flatten().tolist()
        yield (weight.flatten().tolist(), bits, shared), expected


@figure("ch20_inference", "F.half", 0)
def numbers_in_16_bits(draw):
    numbers = [draw.gauss(0, 1) * 10.0 ** draw.randint(-9, 3) for _ in range(1000)]
    numbers += [0.0, 1 + 2**-11, 1 + 3 * 2**-11, 2**-24, 2**-25]
    for number in torch.tensor(numbers):
        yield (number.item(),), number.half().item()


@figure("ch20_inference", "F.bytes", 0)
def bytes_of_a_rounded_model(draw):
    model = GPT.pretrained("tiny-shakespeare")
    tensors = [{"name": name, "shape": list(p.shape)} for name, p in model.named_parameters()]
    for way in itertools.product(BITS, SHARED):
        yield (tensors, *way), size(model, *way)


@figure("ch22_answers", "(text) => F.judge(85, text)")
def answers_to_85(draw):
    yield ("47+38",), {"right": True, "borrow": True}
    yield ("47+48",), {"right": False, "borrow": True}
    for text in ("40+45", "00+85"):
        yield (text,), {"right": True, "borrow": False}
    for text in ("4++38", "40?\n62?"):
        yield (text,), None


@figure("ch23_thinking", "F.followed", 0)
def a_ball_under_five_cups(draw):
    prompts, cups = games(20, torch.Generator().manual_seed(draw.randrange(1000)))
    for prompt, after in zip(prompts.tolist(), cups.tolist(), strict=True):
        game = f"{prompt[0] - CUP + 1}{''.join(map(str, prompt[1:-1]))}"
        yield (NAMES[:CUP], game), [ball - CUP for ball in (prompt[0], *after)]


@figure("ch23_thinking", "F.score", 0)
def games_that_two_models_have_right(draw):
    shown = load_measurements("thinking")["film"]["shown"]
    once, written = score(shown)
    rows = [[game, says, text.replace(" ", "")] for game, says, text in shown]
    yield (NAMES[:CUP], rows), {"once": once, "written": written}


@figure("ch24_inside", "(song, best) => [F.repeats(song), ...F.copied(song, best)]", 0)
def notes_that_were_copied(draw):
    film = load_measurements("induction")["film"]
    for _, best in film["without"][::37]:
        yield (film["song"], best), [repeats(film["song"]), *copied(film["song"], best)]


@figure("ch24_inside", "F.shown", 0)
def a_song_without_some_heads(draw):
    """Its own loss and notes, and block 2's maps as they are without those heads of block 1."""
    stored = load_measurements("induction")
    film, shown = stored["film"], silence(stored).settings
    last = len(film["frames"]) - 1
    yield (shown, 0, 0), film["frames"][0]
    for silenced in (1, 16, 0b10000100, 255):
        loss, best = film["without"][silenced]
        maps = film["frames"][last]["maps"][:4] + film["second"][silenced & 15]["maps"]
        yield (shown, last, silenced), {"loss": loss, "best": best, "maps": maps}


@figure("ch13_bert/two_sentences", "F.sentencesOf")
def sentences_that_a_reader_puts_together(_draw):
    made = [{"text": text, "says": ",".join(map(str, says))} for text, says in composed()]
    yield (NOUNS, VERBS), made


@figure("ch13_bert/two_sentences", "F.cosineOf")
def stored_cosines(draw):
    texts, cosines = [text for text, _ in composed()], load_measurements("same_words")["composed"]
    for _ in range(20):
        i, j = sorted(draw.sample(range(len(texts)), 2))
        yield (cosines, len(texts), i, j), cosine_of(texts[i], texts[j])


FOLDERS = sorted({folder for folder, *_ in FIGURES.values()})
SCRIPTS = {name: f"{name}.js" if "/" in name else f"{name}/live.js" for name in FOLDERS}
in_node = Node(*MODEL, "ch02_embeddings/train.js", **SCRIPTS)


@pytest.mark.parametrize("name", FIGURES)
def test_javascript_computes_what_python_does(name):
    folder, function, tolerance, pairs = FIGURES[name]
    given, expected = zip(*pairs(random.Random(0)), strict=True)
    body = (
        f"const F = globalThis['{folder}']; return input.given.map((row) => ({function})(...row))"
    )
    shown = in_node(body, given=given)
    for row, a, b in zip(given, shown, expected, strict=True):
        assert is_close(a, b, tolerance), (row, a, b)


def test_labels_of_words_never_cover_each_other_and_the_chosen_word_has_one():
    body = """const F = ch02_embeddings, map = F.load(input.settings);
      return F.labels(map, [7, ...map.words.keys()], 330, 380).map(({ id, box }) => [id, box])"""
    shown = in_node(body, settings=word_map().settings)
    assert shown[0][0] == 7 and len(shown) > 30
    for (_, a), (_, b) in itertools.permutations(shown, 2):
        assert a[0] > b[2] or b[0] > a[2] or a[1] > b[3] or b[1] > a[3]


def test_without_the_push_all_words_point_one_way_and_with_it_the_same_table_comes_apart():
    body = """const { text, known, ids } = input.settings;
      const spoken = course.wordTraining.speeches(text);
      const training = course.wordTraining.newTraining(spoken, known);
      const mean = (steps, negatives) => {
        training.run(steps, 0.05, negatives);
        return course.wordTraining.cosinesOf(training.units(ids)).mean;
      };
      return [spoken, course.wordTraining.pairsOf(spoken).length, mean(400_000, 0), mean(8e5, 5)]"""
    settings = word_map().settings
    spoken, numbers, pulled, pushed = in_node(body, settings=settings)
    assert numbers == 2 * sum(len(right_pairs_of(ids, 5)) for ids in spoken)
    assert max(map(max, spoken)) == settings["known"] - 1 == 1316 and numbers == 2 * 460_534
    assert pulled > 0.98 and pushed < 0.5
