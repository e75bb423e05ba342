"""Chapter 10's two scenes: the page expects, looks and hides as PyTorch does."""

import torch

from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch10_bigram_to_gpt.live import look
from scratchformer_course.page_model import describe
from tests.node import Node

in_node = Node(
    *(f"page_model/{name}.js" for name in ("model", "tokenizer", "scene", "explorer")),
    F="ch10_bigram_to_gpt/two_scenes.js",
)
SCENE = "DUKE OF YORK:\nWhat, is he gone?\n\nISABELLA:\nYes.\n\nDUKE "


def test_the_page_looks_and_hides_in_the_last_block_as_pytorch_does():
    model, tok = (kind.pretrained("tiny-shakespeare") for kind in (GPT, CharTokenizer))
    model = model.eval()
    cases = ((SCENE, (), ()), (SCENE, range(8, 13), ()), (SCENE, (), (2,)), ("a", (), ()))
    for text, hidden, out in cases:
        ids = tok.encode(text)
        shown = in_node(
            """const model = course.model.load(input.description);
            return F.reader(model, input.ids)((s) => input.hidden.includes(s), input.out[0])""",
            description=describe(model, tok),
            ids=ids,
            hidden=list(hidden),
            out=list(out),
        )
        p, weights = look(model, torch.tensor([ids]), hidden, out)
        torch.testing.assert_close(
            torch.tensor(shown["p"], dtype=torch.float32), p, atol=2e-3, rtol=0
        )
        torch.testing.assert_close(
            torch.tensor(shown["weights"], dtype=torch.float32), weights, atol=2e-3, rtol=0
        )
        if not hidden and not out:
            with torch.no_grad():
                expected = model(torch.tensor([ids]))[0, -1].softmax(dim=0)
            torch.testing.assert_close(p, expected, atol=1e-5, rtol=0)


def test_texts_share_an_end_and_answers_share_a_part():
    pairs = [("abc", "xbc"), ("bc", "abc"), ("a", "b"), ("ab", "ab")]
    ends = in_node("return input.pairs.map((pair) => F.sameEnd(...pair))", pairs=pairs)
    assert ends == [2, 2, 0, 2]
    assert in_node("return [F.apart([1, 0], [0, 1]), F.apart([0.5, 0.5], [0.5, 0.5])]") == [1, 0]
