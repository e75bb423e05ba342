"""Chapter 05's hidden words: the page computes what PyTorch does, for any line."""

import pytest
import torch

from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch05_averaging.live import without
from scratchformer_course.page_model import describe
from tests.node import Node

in_node = Node(
    *(f"page_model/{name}.js" for name in ("model", "tokenizer", "scene", "explorer")),
    F="ch05_averaging/hidden_words.js",
)
LINE = "Whence are you, sir? what may I call your name"


@pytest.fixture(scope="module")
def shipped():
    model, tok = (kind.pretrained("tiny-shakespeare") for kind in (GPT, CharTokenizer))
    return model.eval(), tok, describe(model, tok)


def test_what_is_hidden_from_the_last_letter_has_no_weight_in_the_page_as_in_pytorch(shipped):
    model, tok, description = shipped
    lines = {LINE: ((), range(21, 25), range(45), (3, 7)), "a": ((),)}
    for line, hidden in lines.items():
        ids = tok.encode(line)
        shown = in_node(
            """const model = course.model.load(input.description);
            const predict = F.reader(model, input.ids);
            return input.hidden.map((places) => predict((s) => places.includes(s)))""",
            description=description,
            ids=ids,
            hidden=[list(places) for places in hidden],
        )
        for p, places in zip(shown, hidden, strict=True):
            torch.testing.assert_close(
                torch.tensor(p), without(model, torch.tensor([ids]), places), atol=2e-3, rtol=0
            )


def test_words_and_letters_can_be_hidden_but_never_the_last_letter():
    pieces = in_node("return [true, false].map((by) => F.pieces('to  be', by))")
    assert pieces == [[[0, 1, "t"], [1, 2, "o"], [4, 5, "b"]], [[0, 2, "to"]]]
    assert in_node("return F.pieces('to be ', false)") == [[0, 2, "to"], [3, 5, "be"]]
