"""The exercises of chapter 13, BERT."""

import functools

import torch
from torch import nn

from scratchformer.attention import padding_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.data import synthetic_pairs as grammar
from scratchformer.models import BERT as BertOfThePackage
from scratchformer.shipped import shipped_words
from scratchformer_course.kit.checks import Wrong, exercise, expect, number, which
from scratchformer_course.kit.checks.cases import Draw, drawn, integers, normal
from scratchformer_course.kit.checks.compare import error_in_words, same
from scratchformer_course.kit.checks.mistakes import edits


def _in_a_row(ids):
    """Ids of one digit, written one after the other."""
    return int("".join(str(int(i)) for i in ids))


def right_hide(ids, chosen, lot, other, mask_id):
    inputs = ids.masked_fill(chosen & (lot < 0.8), mask_id)
    misprint = chosen & (lot >= 0.8) & (lot < 0.9)
    inputs = torch.where(misprint, other, inputs)
    return inputs, ids.masked_fill(~chosen, -100)


def explain_hide(got, ids, chosen, lot, other, mask_id):
    """Tell the first rule that is broken, whatever the mistake."""
    shapes = [tuple(tensor.shape) for tensor in got]
    both = f"Return the inputs and the targets, both (B, T): the shapes are {shapes}."
    expect(shapes == [tuple(ids.shape)] * 2, both)
    inputs, targets = got
    why = "A position that was not chosen has the target -100: nothing is asked there."
    expect((targets[~chosen] == -100).all(), why)
    why = "The target is the old token wherever `chosen`, also where it was not hidden."
    expect((targets == ids)[chosen].all(), why)
    why = "Tokens that were not chosen must stay as they are."
    expect((inputs == ids)[~chosen].all(), why)
    why = "Chosen tokens with `lot` below 0.8 become `mask_id`."
    expect((inputs == mask_id)[chosen & (lot < 0.8)].all(), why)
    why = "With `lot` from 0.8 to 0.9 a chosen token becomes the one in `other`."
    expect((inputs == other)[chosen & (lot >= 0.8) & (lot < 0.9)].all(), why)
    expect(False, "With `lot` from 0.9 on a chosen token stays as it is.")


def _lots(draw):
    B, T = draw.randint(1, 3), draw.size(1, 9, 60)
    lot = normal(draw, B, T).sigmoid() * 0.5 + 0.5  # most are near the limits
    return integers(draw, 9, B, T), normal(draw, B, T) > 0, lot, integers(draw, 9, B, T), 9


def _inputs(hide):
    ids, lot = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[0.5, 0.85, 0.1, 0.95]])
    return _in_a_row(hide(ids, ids != 3, lot, ids + 4, 9)[0][0])


LIMITS = torch.tensor([[0.9, 0.8, 0.0, 0.799], [0.1, 0.95, 0.85, 0.899]], dtype=torch.float64)
hide = exercise(
    "13.1",
    "hide(ids, chosen, lot, other: all (B, T), mask_id) -> (inputs, targets), both (B, T)",
    cases=(
        _lots(Draw(13)),
        (torch.arange(8).view(2, 4), LIMITS > 0.01, LIMITS, torch.arange(8).view(2, 4) + 8, 25),
    ),
    praise="`hide` is right: 80 % masked, 10 % random, 10 % left, and targets only there.",
    explain=explain_hide,
    more=drawn(12, _lots),
    right=[right_hide],
    hints=[
        "Which positions become the mask, and which get the token in `other`? Each of the two "
        "rules has two conditions.",
        "`inputs = ids.masked_fill(chosen & (lot < 0.8), mask_id)`, then `torch.where` with "
        "`other` for the next tenth. The targets are `ids.masked_fill(..., -100)`.",
    ],
    question=number(
        "`ids` are 1, 2, 3, 4, of which the first, the second and the fourth are `chosen`. `lot` "
        "is 0.5, 0.85, 0.1, 0.95, `other` is 5, 6, 7, 8, and `mask_id` is 9. What are the four "
        "inputs? Write them one after the other: 1, 2, 3, 4 would be 1234.",
        _inputs,
        digits=0,
    ),
    mistakes={
        "return inputs, -> return ids.masked_fill(chosen, mask_id),": "All chosen tokens "
        "became the mask: only those with `lot` below 0.8",
        ", ids.masked_fill(~ -> , inputs.masked_fill(~": "The target of a hidden token is the "
        "mask itself: take targets from the old `ids`",
        "chosen & (lot -> (lot": "Tokens that were not chosen must stay as they are",
        " & (lot < 0.9) -> ": "With `lot` from 0.9 on a chosen token stays as it is",
    },
)


SIZES = {"vocab_size": 9, "context_length": 8, "d_model": 32, "n_heads": 2, "n_layers": 3}


def _row(B, T):
    """Ids, segments and a mask: row b has its second text and its padding elsewhere than others."""
    ids = integers(Draw(6), SIZES["vocab_size"] - 1, B, T) + 1
    for b in range(B - 1):
        ids[b, T - 1 - b :] = 0
    starts = T // 2 + torch.arange(B).unsqueeze(1) % 2
    return ids, (torch.arange(T) >= starts).long(), padding_mask(ids, 0)


def judge_bert(call):
    BERT.compare(call)
    model, row = call.given(**SIZES).eval(), _row(2, 5)
    why = "`encode` must return the vectors after the last block, (B, T, C)"
    try:
        x = model.encode(*row)
        if x is ...:
            raise Wrong("replace the `...` in `encode`.", "not yet")
        logits = model.lm_head(model.transform(x))
    except (RuntimeError, TypeError, ValueError) as error:
        raise Wrong(f"{why}: {error_in_words(error)}.") from None
    expect(same(logits, model(*row)), f"{why}: the logits are not made of them.")
    tied = "`lm_head.weight` must be `wte.weight` itself: one table embeds words and scores them."
    expect(model.lm_head.weight is model.wte.weight, tied)
    return BERT.praise


def post_norm_blocks(n, d_model, n_heads):
    make = functools.partial(TransformerBlock, norm_first=False, activation="gelu")
    return nn.ModuleList(make(d_model, n_heads) for _ in range(n))


class RightBERT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context_length, d_model)
        self.wse = nn.Embedding(2, d_model)
        self.ln_e = nn.LayerNorm(d_model)
        self.h = post_norm_blocks(n_layers, d_model, n_heads)
        linear, norm = nn.Linear(d_model, d_model), nn.LayerNorm(d_model)
        self.transform = nn.Sequential(linear, nn.GELU(), norm)
        self.lm_head = nn.Linear(d_model, vocab_size)
        self.lm_head.weight = self.wte.weight

    def encode(self, ids, segments, mask=None):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        x = self.ln_e(x + self.wse(segments))
        for block in self.h:
            x = block(x, mask)
        return x

    def forward(self, ids, segments, mask=None):
        return self.lm_head(self.transform(self.encode(ids, segments, mask)))


def _encodes_one_token(BERT):
    """The first number of a model without blocks, after the embeddings of one token."""
    model = BERT(vocab_size=1, context_length=1, d_model=4, n_heads=1, n_layers=0).eval()
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
    cases=(
        (SIZES, *_row(3, 8)),
        (SIZES | {"context_length": 3, "d_model": 8, "n_heads": 1}, *_row(1, 2)[:2]),
    ),
    praise="`BERT` is right: it reads both sides, and two texts, and not the padding.",
    judge=judge_bert,
    right=[RightBERT],
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
    mistakes={
        "block(x, mask) -> block(x)": "The mask does not reach the blocks: padding is read "
        "like a word",
        "x + self.wse(segments) -> x": "The segment embedding is missing: add `wse(segments)`",
        "self.ln_e(x + self.wse(segments)) -> x + self.wse(segments)": "The sum of the three "
        "embeddings goes through `ln_e`",
        "self.wte(ids) + -> self.ln_e(self.wte(ids)) +\nself.ln_e(x + self.wse(segments)) -> "
        "x + self.wse(segments)": "`ln_e` comes after the sum of all three",
        "(self.transform(self -> ((self": "The "
        "head's own layer is missing: `transform` comes before `lm_head`",
    },
)


def _dictionary():
    """German words, each with the English words that it translates."""
    translations: dict[str, set[str]] = {}
    for sees, see, sieht, sehen, *_ in (*grammar.NOUNS, *grammar.VERBS, *grammar.MODALS):
        translations.setdefault(sieht, set()).add(sees)
        translations.setdefault(sehen, set()).add(see)
    for english, german in grammar.ADJECTIVES:
        translations |= {german + ending: {english} for ending in ("e", "en", "er", "es")}
    translations |= {german: {english} for english, german in grammar.ADVERBS}
    for ending in ("e", "en", "er", "es"):
        translations |= {f"dies{ending}": {"this", "these"}, f"jed{ending}": {"every"}}
    translations |= {article: {"the"} for article in ("der", "die", "das", "den")}
    translations |= {article: {"a", "an"} for article in ("ein", "eine", "einen")}
    return translations | {"wir": {"we"}, "wissen": {"know"}, "dass": {"that"}, ",": set()}


GERMAN = _dictionary()
ENGLISH = set().union(*GERMAN.values())


def _by_dictionary(english, german):
    """The word that a dictionary, which knows no order, puts into the gap."""
    left = [word for word in german if word != ","]
    for word in english:
        if word != GAP:
            found = [i for i, each in enumerate(left) if word in GERMAN[each]]
            expect(found, f"No word of the German text is left for `{word}`.")
            del left[found[0]]
    needs = "For the gap the dictionary needs one German word that no other English word translates"
    expect(len(left) == 1, f"{needs}: it finds {len(left)}.")
    said = sorted(GERMAN[left[0]])
    expect(len(said) == 1, f"`{left[0]}` may be {' or '.join(said)}: the dictionary cannot decide.")
    return said[0]


@functools.cache
def _shipped():
    return BertOfThePackage.pretrained("english-german").eval(), shipped_words("english-german")


@torch.no_grad()
def _by_bert(english, german):
    """The word that the shipped network puts into the gap."""
    model, words = _shipped()
    row = ["[CLS]", *("[MASK]" if word == GAP else word for word in english), "[SEP]"]
    segments = [0] * len(row) + [1] * (len(german) + 1)
    row += [*german, "[SEP]"]
    room = model.config.context_length
    expect(len(row) <= room, f"The row has {len(row)} positions, and the network has {room}.")
    ids = torch.tensor([[words.index(word) for word in row]])
    logits = model(ids, torch.tensor([segments]))[0, 1 + english.index(GAP)]
    return words[int(logits.argmax())]


GAP = "_"
ON_THE_PAGE = "jede Katze sieht der Hund"


def judge_own_pair(call):
    english, german = (text.split() for text in call().like((GAP, "der"), "Return two texts."))
    gaps = english.count(GAP)
    expect(gaps == 1, f"The English text needs one gap, `_`, between spaces: it has {gaps}.")
    for language, text, known in (
        ("English", english, ENGLISH | {GAP}),
        ("German", german, GERMAN),
    ):
        unknown = [word for word in text if word not in known]
        expect(not unknown, f"`{''.join(unknown[:1])}` is no {language} word of the grammar.")
    expect(german != ON_THE_PAGE.split(), "That pair is the page's: take other nouns.")
    word, bert = _by_dictionary(english, german), _by_bert(english, german)
    expect(bert != word, f"BERT is right: it fills the gap with `{bert}`, like the dictionary.")
    return f"The dictionary fills the gap with `{word}`, and BERT does not."


def right_own_pair():
    # German may put the object first, and no text that BERT read did.
    return "the _ praises the woman", "die Frau lobt der König"


def without_the_comment():
    return "the _ feeds the cow", "die Kuh füttert der Mann"


own_pair = exercise(
    "13.3",
    "own_pair() -> (an English text with one gap, a German text), not the page's own, where a "
    "dictionary fills the gap rightly and the shipped BERT wrongly",
    judge=judge_own_pair,
    right=[right_own_pair, without_the_comment],
    hints=[
        "The dictionary knows nothing about the order of words. Which order has BERT never read?",
        "German may put the object first. Start with `der Mann füttert die Kuh`, and let the two "
        "nouns trade places, each with the word before it.",
    ],
    question=which(
        "die Kuh füttert der Mann -> der Mann füttert die Kuh",
        others=["der Mann -> der", "der Mann -> der arme Mann"],
        text="This pair is refused. Why?",
    ),
    mistakes=edits(
        without_the_comment,
        {
            "die Kuh füttert der Mann -> der Mann füttert die Kuh": "BERT is right: it fills",
            "the _ -> the man": "needs one gap, `_`, between spaces: it has 0",
            "der Mann -> der": "it finds 0",
            "der Mann -> der arme Mann": "it finds 2",
            "the _ feeds the cow -> the _ sees every cat\n"
            "die Kuh füttert der Mann -> jede Katze sieht der Hund": "That pair is the page's",
        },
        quoted=True,
    ),
)
