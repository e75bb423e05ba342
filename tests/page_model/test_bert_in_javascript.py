"""The BERT in JavaScript is PyTorch's, and what is typed becomes the row that PyTorch reads."""

import pytest
import torch

from scratchformer.models import BERT, BERTConfig
from scratchformer.shipped import shipped_words
from scratchformer_course.ch13_bert.live import EXAMPLES, MASK, describe_bert
from tests.node import Node

NAME = "english-german"
in_node = Node("page_model/model.js", "page_model/bert.js", F="ch13_bert/live.js")


@pytest.mark.parametrize(
    "sizes", [{"d_model": 6, "n_heads": 3}, {"d_model": 5, "n_heads": 1, "d_ff": 7}]
)
def test_logits_are_pytorchs(sizes):
    torch.manual_seed(1)
    model = BERT(BERTConfig(vocab_size=9, context_length=7, n_layers=2, **sizes)).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape).mul(0.5).half())
    described = describe_bert(model, [f"w{i}" for i in range(9)])
    body = "return course.bert.forward(course.bert.load(input.described), input.ids, input.of)"
    for T in (1, 7):
        ids = torch.randint(9, (T,), generator=torch.Generator().manual_seed(T)).tolist()
        of = [int(t >= T // 2) for t in range(T)]
        shown = in_node(body, described=described, ids=ids, of=of)
        with torch.no_grad():
            expected = model(torch.tensor([ids]), torch.tensor([of]))[0]
        torch.testing.assert_close(
            torch.tensor(shown).view_as(expected), expected, rtol=1e-3, atol=1e-3
        )


def gaps(texts):
    """PyTorch's probabilities of all words at each gap."""
    model, words = BERT.pretrained(NAME), shipped_words(NAME)
    ids, of = [1], [0]
    for segment, text in enumerate(texts):
        ids += [*(MASK if w == "_" else words.index(w) for w in text.split()), 2]
        of += [segment] * (len(ids) - len(of))
    with torch.no_grad():
        logits = model(torch.tensor([ids]), torch.tensor([of]))[0]
    logits[:, : MASK + 1] = -torch.inf
    return logits[torch.tensor(ids) == MASK].softmax(dim=-1)


def test_the_shipped_model_gives_the_same_candidates_at_every_gap():
    described = describe_bert(BERT.pretrained(NAME), shipped_words(NAME))
    body = """const { described, texts } = input, model = course.bert.load(described);
    return texts.map((both) =>
      F.candidates(model, F.reading(described.words, both, model.config.context_length)))"""
    candidates = in_node(body, described=described, texts=list(EXAMPLES))
    for texts, shown in zip(EXAMPLES, candidates, strict=True):
        for gap, p in zip(shown, gaps(texts), strict=True):
            top = p.topk(5)
            assert [p for _, p in gap["best"]] == pytest.approx(top.values.tolist(), abs=1e-4)
            assert gap["best"][0][0] == top.indices[0]


WORDS = ["·", "[CLS]", "[SEP]", "[MASK]", ",", "the", "dog", "Hund", "sees"]


@pytest.mark.parametrize(
    ("typed", "ids", "unknown"),
    [
        (("the _ sees", "Hund"), [1, 5, 3, 8, 2, 7, 2], []),
        (("The DOG, sees.", ""), [1, 5, 6, 4, 8, 2], []),
        (("", "hund ___"), [1, 7, 3, 2], []),
        (("", ""), [1], []),
        (("[SEP] the", "·"), [1, 3, 5, 2, 3, 2], ["[SEP]", "·"]),  # no special token from outside
    ],
)
def test_what_is_typed_becomes_a_row(typed, ids, unknown):
    read = in_node("return F.reading(input.words, input.typed, 12)", words=WORDS, typed=typed)
    assert read["row"]["ids"] == ids and read["unknown"] == unknown
    both = all(typed)
    first = ids.index(2) if 2 in ids else 0
    assert read["row"]["segments"] == [int(both and t > first) for t in range(len(ids))]


def test_what_does_not_fit_is_left_out_at_the_end_of_the_longer_text():
    typed = ["the dog sees the", "Hund Hund Hund Hund Hund"]
    read = in_node("return F.reading(input.words, input.typed, 9)", words=WORDS, typed=typed)
    assert read["dropped"] == 3 and [len(pieces) for pieces in read["pieces"]] == [3, 3]
