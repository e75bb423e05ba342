"""The exercises of chapter 13, BERT."""

import functools
import math
from typing import Any

import torch
from torch import nn

from scratchformer.attention import padding_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.data import synthetic_pairs as grammar
from scratchformer.models import BERT as BertOfThePackage
from scratchformer.shipped import shipped_words
from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.compare import error_in_words, same
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import Wrong, expect

IGNORED = -100


def _draws():
    """Ids 5 … 24 and what an exercise needs to hide some of them: chosen, lot, other."""
    g = torch.Generator().manual_seed(11)
    ids = torch.randint(5, 25, (2, 400), generator=g)
    chosen = torch.rand(2, 400, generator=g) < 0.3
    other = torch.randint(5, 25, (2, 400), generator=g)
    return ids, chosen, torch.rand(2, 400, generator=g), other


def _in_a_row(ids):
    """Ids of one digit, written one after the other."""
    return int("".join(str(int(i)) for i in ids))


_ids, _chosen, _lot, _other = _draws()
_none = torch.zeros_like(_chosen)
_limits = torch.tensor([[0.9, 0.8, 0.0], [0.1, 0.95, 0.85]], dtype=torch.float64)


def right_hide(ids, chosen, lot, other, mask_id):
    inputs = ids.masked_fill(chosen & (lot < 0.8), mask_id)
    inputs = torch.where(chosen & (lot >= 0.8) & (lot < 0.9), other, inputs)
    return inputs, ids.masked_fill(~chosen, IGNORED)


def hide_by_loop(ids, chosen, lot, other, mask_id):
    inputs, targets = ids.clone(), torch.full_like(ids, IGNORED)
    for b, t in chosen.nonzero().tolist():
        targets[b, t] = ids[b, t]
        if lot[b, t] < 0.8:
            inputs[b, t] = mask_id
        elif lot[b, t] < 0.9:
            inputs[b, t] = other[b, t]
    return inputs, targets


def explain_hide(got, ids, chosen, lot, other, mask_id):
    """Tell the first rule that is broken, whatever the mistake."""
    shapes = [tuple(tensor.shape) for tensor in got]
    both = f"Return the inputs and the targets, both (B, T): the shapes are {shapes}."
    expect(shapes == [tuple(ids.shape)] * 2, both)
    inputs, targets = got
    late = chosen & (lot >= 0.9)
    why = "A place that was not chosen has the target -100: nothing is asked there."
    expect((targets[~chosen] == IGNORED).all(), why)
    why = "The target is the old token wherever `chosen`, also where it was not hidden."
    expect((targets == ids)[chosen].all(), why)
    why = "Tokens that were not chosen must stay as they are."
    expect((inputs == ids)[~chosen].all(), why)
    why = "Chosen tokens with `lot` below 0.8 become `mask_id`."
    expect((inputs == mask_id)[chosen & (lot < 0.8)].all(), why)
    why = "With `lot` from 0.8 to 0.9 a chosen token becomes the one in `other`."
    expect((inputs == other)[chosen & (lot >= 0.8) & ~late].all(), why)
    why = "With `lot` from 0.9 on a chosen token stays as it is."
    expect((inputs == ids)[late].all(), why)


def _with_targets(targets):
    """The right inputs, and targets made of the old ids, the inputs and `chosen`."""

    def answer(ids, chosen, *rest):
        inputs, _ = right_hide(ids, chosen, *rest)
        return inputs, targets(ids, inputs, chosen)

    return answer


def _lots(draw):
    B, T = draw.randint(1, 3), draw.randint(1, 9)
    lot = normal(draw, B, T).sigmoid() * 0.5 + 0.5  # most are near the limits
    return integers(draw, 9, B, T), normal(draw, B, T) > 0, lot, integers(draw, 9, B, T), 9


hide = exercise(
    "13.1",
    "hide(ids, chosen, lot, other: all (B, T), mask_id) -> (inputs, targets), both (B, T)",
    cases=(
        (_ids, _chosen, _lot, _other, 2),
        (_ids, _none, _lot, _other, 2),
        (_ids[:1, :9], ~_none[:1, :9], _lot[:1, :9], _other[:1, :9], 103),
        (_ids[:, :3], _limits > 0.01, _limits, _other[:, :3], 25),  # a lot on either limit
        (_ids.T, _chosen.T, _lot.T, _other.T, int(_ids[0, 0])),  # a word with the mask's number
    ),
    praise="`hide` is right: 80 % masked, 10 % random, 10 % left, and targets only there.",
    explain=explain_hide,
    more=drawn(10, _lots),
    right=[right_hide, hide_by_loop],
    hints=[
        "Which places become the mask, and which get the token in `other`? Each of the two rules "
        "has two conditions.",
        "`inputs = ids.masked_fill(chosen & (lot < 0.8), mask_id)`, then `torch.where` with "
        "`other` for the next tenth. The targets are `ids.masked_fill(..., -100)`.",
    ],
    question=number(
        "`ids` are 1, 2, 3, 4, of which the first, the second and the fourth are `chosen`. `lot` "
        "is 0.5, 0.85, 0.1, 0.95, `other` is 5, 6, 7, 8, and `mask_id` is 9. What are the four "
        "inputs? Write them one after the other: 1, 2, 3, 4 would be 1234.",
        lambda f: _in_a_row(
            f(
                torch.tensor([[1, 2, 3, 4]]),
                torch.tensor([[True, True, False, True]]),
                torch.tensor([[0.5, 0.85, 0.1, 0.95]]),
                torch.tensor([[5, 6, 7, 8]]),
                9,
            )[0][0]
        ),
        digits=0,
    ),
    mistakes=[
        mistake(
            "hides all that were chosen",
            "All chosen tokens became the mask: only those with `lot` below 0.8",
            lambda ids, chosen, lot, *rest: right_hide(ids, chosen, 0 * lot, *rest),
        ),
        mistake(
            "targets from the inputs",
            "The target of a hidden token is the mask itself: take targets from the old `ids`",
            _with_targets(lambda ids, inputs, chosen: inputs.masked_fill(~chosen, IGNORED)),
        ),
        refused(
            "targets everywhere",
            "nothing is asked there",
            _with_targets(lambda ids, inputs, chosen: ids),
        ),
        refused(
            "the lot decides for all tokens",
            "must stay as they are",
            lambda ids, chosen, *rest: (
                right_hide(ids, torch.ones_like(chosen), *rest)[0],
                right_hide(ids, chosen, *rest)[1],
            ),
        ),
        refused(
            "no token stays as it is",
            "from 0.9 on a chosen token stays",
            lambda ids, chosen, lot, *rest: right_hide(ids, chosen, lot.clamp(max=0.85), *rest),
        ),
    ],
)


SIZES = {"vocab_size": 9, "context_length": 8, "d_model": 8, "n_heads": 2, "n_layers": 2}
OTHER = {"vocab_size": 6, "context_length": 5, "d_model": 6, "n_heads": 3, "n_layers": 1}
LARGE = 16  # from this width on, a model keeps the start that it was given


def _row(sizes, B, T, seed=6):
    """Ids, segments and a mask: row b has its second text and its padding elsewhere than others."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, sizes["vocab_size"], (B, T), generator=g)
    for b in range(B - 1):
        ids[b, T - 1 - b :] = 0
    starts = T // 2 + torch.arange(B).unsqueeze(1) % 2
    return ids, (torch.arange(T) >= starts).long(), padding_mask(ids, 0)


def _expect_encode(model):
    """Raise `Wrong` unless `encode` returns what `transform` and `lm_head` make logits of."""
    ids, segments, mask = _row(SIZES, 2, 5)
    why = "`encode` must return the vectors after the last block, (B, T, C)"
    try:
        x = model.encode(ids, segments, mask)
        if x is ...:
            raise Wrong("replace the `...` in `encode`.", "not yet")
        logits = model.lm_head(model.transform(x))
    except (RuntimeError, TypeError, ValueError) as error:
        raise Wrong(f"{why}: {error_in_words(error)}.") from None
    expect(same(logits, model(ids, segments, mask)), f"{why}: the logits are not made of them.")


def _expect_tied(model):
    same = model.lm_head.weight is model.wte.weight
    why = "`lm_head.weight` must be `wte.weight` itself: one table embeds words and scores them."
    expect(same, why)


def _expect_no_dropout(model):
    """Raise `Wrong` unless the model says the same twice while it is trained."""
    model.train()
    with torch.no_grad():
        one, other = (model(*_row(SIZES, 2, 5)) for _ in range(2))
    why = "In training, two calls on the same ids give different logits: no dropout is asked for."
    expect(same(one, other), why)


def bert_cases():
    one = {"vocab_size": 11, "context_length": 3, "d_model": 4, "n_heads": 1, "n_layers": 3}
    return (SIZES, *_row(SIZES, 3, 8)), (OTHER, *_row(OTHER, 2, 4)), (one, *_row(one, 1, 2)[:2])


def judge_bert(call):
    BERT.compare(call)
    torch.manual_seed(0)
    model = call.given(**SIZES | {"d_model": LARGE}).eval()
    _expect_encode(model)
    _expect_tied(model)
    _expect_no_dropout(model)
    return BERT.praise


class RightBERT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context_length, d_model)
        self.wse = nn.Embedding(2, d_model)
        self.ln_e = nn.LayerNorm(d_model)
        self.h: Any = nn.ModuleList(
            TransformerBlock(d_model, n_heads, norm_first=False, activation="gelu")
            for _ in range(n_layers)
        )
        self.transform = nn.Sequential(
            nn.Linear(d_model, d_model), nn.GELU(), nn.LayerNorm(d_model)
        )
        self.lm_head = nn.Linear(d_model, vocab_size)
        self.lm_head.weight = self.wte.weight
        for p in self.parameters() if d_model < LARGE else ():
            nn.init.normal_(p, std=0.5)  # in the cases: with small weights few faults show

    def places(self, ids):
        return self.wpe(torch.arange(ids.shape[1]))

    def embed(self, ids, segments):
        return self.ln_e(self.wte(ids) + self.places(ids) + self.wse(segments))

    def encode(self, ids, segments, mask=None):
        x = self.embed(ids, segments)
        for block in self.h:
            x = block(x, mask)
        return x

    def forward(self, ids, segments, mask=None):
        return self.lm_head(self.transform(self.encode(ids, segments, mask)))


class EmbedsByIndexing(RightBERT):
    def embed(self, ids, segments):
        T = ids.shape[1]
        return self.ln_e(self.wse.weight[segments] + self.wpe.weight[:T] + self.wte.weight[ids])


def _with(**methods):
    """The right class with other methods."""
    return type("Answer", (RightBERT,), methods)


class DoesNotTie(RightBERT):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__(vocab_size, context_length, d_model, n_heads, n_layers)
        self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())


def _encodes_one_token(BERT):
    """The first number of a model without blocks, after the embeddings of one token."""
    model = BERT(vocab_size=1, context_length=1, d_model=4, n_heads=1, n_layers=0).eval()
    nn.init.ones_(model.ln_e.weight)  # the cases have random ones
    nn.init.zeros_(model.ln_e.bias)
    rows = [4, 0, 2, -2], [3, 1, -1, -1], [2, 2, 0, -2]
    for table, row in zip((model.wte, model.wpe, model.wse), rows, strict=True):
        table.weight.data[0] = torch.tensor(row)
    one = torch.zeros(1, 1, dtype=torch.int64)
    return model.encode(one, one)[0, 0, 0].item()


BERT = exercise(
    "13.2",
    "BERT(vocab_size, context_length, d_model, n_heads, n_layers): ids -> logits (B, T, V). It is "
    "called with ids, segments and a mask. Its parts are called `wte`, `wpe`, `wse`, `ln_e`, `h`, "
    "`transform` and `lm_head`.",
    cases=bert_cases,
    praise="`BERT` is right: it reads both sides, and two texts, and not the padding.",
    judge=judge_bert,
    right=[RightBERT, EmbedsByIndexing],
    hints=[
        "Which three vectors are added for each token, and what comes before the first block?",
        "`x = self.ln_e(self.wte(ids) + self.wpe(torch.arange(T)) + ...)`, then "
        "`x = block(x, mask)` for each block. The logits are `lm_head(transform(...))`.",
    ],
    question=number(
        "A `BERT` of width 4 has no blocks. For a text of one token, the row of `wte` is "
        "[4, 0, 2, −2], the row of `wpe` is [3, 1, −1, −1], and the row of `wse` is [2, 2, 0, −2]. "
        "`ln_e` is as new: it multiplies by 1 and adds 0. What is the first number of `encode`? "
        "Give one digit after the point.",
        _encodes_one_token,
        digits=1,
    ),
    mistakes=[
        mistake(
            "forgets the mask",
            "The mask does not reach the blocks: padding is read like a word",
            _with(
                encode=lambda self, ids, segments, mask=None: RightBERT.encode(self, ids, segments)
            ),
        ),
        mistake(
            "leaves the segments out",
            "The segment embedding is missing: add `wse(segments)`",
            _with(embed=lambda self, ids, _: self.ln_e(self.wte(ids) + self.places(ids))),
        ),
        mistake(
            "forgets the first norm",
            "The sum of the three embeddings goes through `ln_e`",
            _with(
                embed=lambda self, ids, segments: (
                    self.wte(ids) + self.places(ids) + self.wse(segments)
                )
            ),
        ),
        mistake(
            "normalises the words only",
            "`ln_e` comes after the sum of all three",
            _with(
                embed=lambda self, ids, segments: (
                    self.ln_e(self.wte(ids)) + self.places(ids) + self.wse(segments)
                )
            ),
        ),
        mistake(
            "leaves the transform out",
            "The head's own layer is missing: `transform` comes before `lm_head`",
            _with(forward=lambda self, *row: self.lm_head(self.encode(*row))),
        ),
        refused("does not tie", "one table embeds words", DoesNotTie),
    ],
)


def _chances(seed=4, gaps=((0, 2), (0, 5), (0, 6))):
    """Logits (1, T, V) and ids (1, T) with gaps; the surest token of all is at no gap."""
    g = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, 8, 6, generator=g)
    ids = torch.randint(3, (1, 8), generator=g)
    for b, t in gaps:
        ids[b, t] = MASK_ID
    logits[0, 0, 1] = 9.0
    logits[0, 5] += 5.0  # large logits, no more certain for that
    return logits, ids


MASK_ID = 5


def _probabilities(*gaps, mask_id, shift=0.0):
    """Logits and ids whose gaps have these probabilities; each between two words."""
    rows = torch.full((2 * len(gaps) + 1, len(gaps[0])), 1 / len(gaps[0]))
    rows[1::2] = torch.tensor(gaps)
    ids = torch.arange(len(rows)).unsqueeze(0) % (len(gaps[0]) - 1) + 1
    ids[0, 1::2] = mask_id
    moved = shift * torch.linspace(1, -1, len(rows)).unsqueeze(1)  # changes no probability
    return (rows.log() + moved).unsqueeze(0), ids, mask_id


RIVALS = (  # other measures of sureness choose the first of two gaps
    ((0.1, 0.5, 0.1, 0.1, 0.1, 0.1), (0.01, 0.02, 0.52, 0.43, 0.01, 0.01)),  # the margin
    ((0.58, 0.41, 1e-4, 3e-4, 4e-3, 5.6e-3), (0.08, 0.08, 0.08, 0.6, 0.08, 0.08)),  # the entropy
)


def _surest_by(measure):
    """The place and the token for which this measure of the logits, (T, V), is largest."""

    def answer(logits, ids, mask_id):
        sure = measure(logits[0])
        best = sure.max(dim=-1).values.masked_fill(ids[0] != mask_id, -math.inf)
        place = int(best.argmax())
        return place, int(sure[place].argmax())

    return answer


right_surest_gap = _surest_by(lambda logits: logits.softmax(dim=-1))


def surest_gap_by_loop(logits, ids, mask_id):
    gaps = [t for t, token in enumerate(ids[0].tolist()) if token == mask_id]
    chances = {t: logits[0, t].softmax(0) for t in gaps}
    place = max(gaps, key=lambda t: chances[t].max().item())
    return place, int(chances[place].argmax())


def counts_among_the_gaps(logits, ids, mask_id):
    place, token = right_surest_gap(logits, ids, mask_id)
    return int((ids[0, :place] == mask_id).sum()), token


_THREE_TOKENS = torch.tensor([[[0.0, 1, 0], [2, 1, 0], [0, 0, 8], [1, 4, 0], [9, 8, 7], [1, 1, 2]]])


def _with_gaps(draw):
    T, V = draw.randint(1, 7), draw.randint(2, 6)
    ids = integers(draw, 3, 1, T)
    ids[0, draw.randrange(T)] = 1
    return normal(draw, 1, T, V, scale=3.0), ids, 1


surest_gap = exercise(
    "13.3",
    "surest_gap(logits (1, T, V), ids (1, T), mask_id) -> (place, token) of the surest gap",
    cases=(
        *((*_chances(seed), MASK_ID) for seed in (4, 14, 8)),
        (*_chances(7, ((0, 3),)), MASK_ID),
        *(_probabilities(*gaps, mask_id=0) for gaps in RIVALS),
        _probabilities(*RIVALS[1][::-1], (0.3, 0.3, 0.1, 0.1, 0.1, 0.1), mask_id=9, shift=500.0),
    ),
    more=drawn(12, _with_gaps),
    right=[right_surest_gap, surest_gap_by_loop],
    hints=[
        "Which axis holds the vocabulary, and which places must not win, however sure they are?",
        "`p = logits[0].softmax(dim=-1)` and `sure = p.max(dim=-1).values`. Put -1 where "
        "`ids[0] != mask_id`, and the place is the `argmax` of ...",
    ],
    question=number(
        "There are three tokens, 0 to 2, and gaps at the places 1, 3, 4 and 5. The logits of the "
        "places 0 to 5 are [0, 1, 0], [2, 1, 0], [0, 0, 8], [1, 4, 0], [9, 8, 7] and [1, 1, 2]. "
        "What does `surest_gap` return? Write the place and the token one after the other: place "
        "5, token 2 would be 52.",
        lambda f: _in_a_row(f(_THREE_TOKENS, torch.tensor([[1, 9, 2, 9, 9, 9]]), 9)),
        digits=0,
    ),
    mistakes=[
        mistake(
            "looks at every place",
            "The place it names is no gap: only gaps may be filled",
            lambda logits, ids, mask_id: right_surest_gap(
                logits, torch.full_like(ids, mask_id), mask_id
            ),
        ),
        mistake(
            "takes the largest logit",
            "A large logit is not a large probability: take the softmax first",
            _surest_by(lambda logits: logits),
        ),
        mistake(
            "softmax over the places",
            "The softmax runs over the vocabulary, the last axis",
            _surest_by(lambda logits: logits.softmax(dim=0)),
        ),
        mistake(
            "returns the token first",
            "Return the place first, then the token",
            lambda logits, ids, mask_id: right_surest_gap(logits, ids, mask_id)[::-1],
        ),
        mistake(
            "counts places among the gaps",
            "The place is counted in the row, not among the gaps",
            counts_among_the_gaps,
        ),
    ],
)


def _dictionary():
    """German words, each with the English words that it translates."""
    found: dict[str, set[str]] = {}
    for sees, see, sieht, sehen, *_ in (*grammar.NOUNS, *grammar.VERBS, *grammar.MODALS):
        found.setdefault(sieht, set()).add(sees)
        found.setdefault(sehen, set()).add(see)
    for english, german in grammar.ADJECTIVES:
        found |= {german + ending: {english} for ending in ("e", "en", "er", "es")}
    found |= {german: {english} for english, german in grammar.ADVERBS}
    for ending in ("e", "en", "er", "es"):
        found |= {f"dies{ending}": {"this", "these"}, f"jed{ending}": {"every"}}
    found |= {article: {"the"} for article in ("der", "die", "das", "den")}
    found |= {article: {"a", "an"} for article in ("ein", "eine", "einen")}
    return found | {"wir": {"we"}, "wissen": {"know"}, "dass": {"that"}, ",": set()}


GERMAN = _dictionary()
ENGLISH = set().union(*GERMAN.values())


def _by_table(english, german):
    """The word that a table of translations, which knows no order, puts into the gap."""
    left = [word for word in german if word != ","]
    for word in english:
        if word != GAP:
            found = [i for i, each in enumerate(left) if word in GERMAN[each]]
            expect(found, f"No word of the German text is left for `{word}`.")
            del left[found[0]]
    needs = "For the gap the table needs one German word that no other English word translates"
    expect(len(left) == 1, f"{needs}: it finds {len(left)}.")
    said = sorted(GERMAN[left[0]])
    expect(len(said) == 1, f"`{left[0]}` may be {' or '.join(said)}: the table cannot decide.")
    return said[0]


@functools.cache
def _shipped():
    return BertOfThePackage.pretrained("english-german").eval(), shipped_words("english-german")


@torch.no_grad()
def _by_bert(english, german):
    """The word that the shipped network puts into the gap, and its probability."""
    model, words = _shipped()
    row = ["[CLS]", *("[MASK]" if word == GAP else word for word in english), "[SEP]"]
    segments = [0] * len(row) + [1] * (len(german) + 1)
    row += [*german, "[SEP]"]
    room = model.config.context_length
    expect(len(row) <= room, f"The row has {len(row)} places, and the network has {room}.")
    ids = torch.tensor([[words.index(word) for word in row]])
    p = model(ids, torch.tensor([segments]))[0, 1 + english.index(GAP)].softmax(dim=-1)
    return words[int(p.argmax())], p.max().item()


GAP = "_"


def judge_fool_bert(call):
    english, german = (text.split() for text in call().like((GAP, "der"), "Return two texts."))
    gaps = english.count(GAP)
    expect(gaps == 1, f"The English text needs one gap, `_`, between spaces: it has {gaps}.")
    for language, text, known in (
        ("English", english, ENGLISH | {GAP}),
        ("German", german, GERMAN),
    ):
        unknown = [word for word in text if word not in known]
        expect(not unknown, f"`{''.join(unknown[:1])}` is no {language} word of the grammar.")
    table, (bert, p) = _by_table(english, german), _by_bert(english, german)
    expect(bert != table, f"BERT is right: it fills the gap with `{bert}`, like the table.")
    return f"The table fills the gap with `{table}`, and BERT with `{bert}`, to {p:.0%} sure."


def puts_the_object_first():
    return "the _ sees the cow", "die Kuh sieht der Hund"


def with_another_article():
    return "the _ sees the dog", "den Hund sieht der Mann"


def keeps_the_usual_order():
    return "the _ sees the cow", "der Hund sieht die Kuh"


fool_bert = exercise(
    "13.4",
    "fool_bert() -> (an English text with one gap, a German text), where a table of translations "
    "fills the gap rightly and the shipped BERT wrongly",
    judge=judge_fool_bert,
    right=[puts_the_object_first, with_another_article],
    hints=[
        "The table knows nothing about the order of words. Which order has BERT never read?",
        "German may put the object first. Start with `der Hund sieht jede Katze`, and let the two "
        "nouns trade places, each with the word before it.",
    ],
    question=which(
        "keeps the usual order",
        beside=[puts_the_object_first, with_another_article],
        others=["leaves the German word out", "leaves two German words"],
        text="One of these pairs is refused. Which one, and why?",
    ),
    mistakes=[
        refused(
            "keeps the usual order",
            "BERT is right: it fills the gap with `dog`",
            keeps_the_usual_order,
        ),
        refused(
            "has no gap",
            "needs one gap, `_`, between spaces: it has 0",
            lambda: ("the dog sees every cat", "jede Katze sieht der Hund"),
        ),
        refused(
            "leaves the German word out",
            "it finds 0",
            lambda: ("the _ sees every cat", "der sieht jede Katze"),
        ),
        refused(
            "leaves two German words",
            "it finds 2",
            lambda: ("the _ sees every cat", "jede Katze sieht der arme Hund"),
        ),
        refused(
            "takes another verb",
            "`eats` is no English word of the grammar",
            lambda: ("the _ eats every cat", "jede Katze sieht der Hund"),
        ),
    ],
)
