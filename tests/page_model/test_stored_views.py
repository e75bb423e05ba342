"""The stored live views of chapters 07 and 12 hold what the shipped model gives now."""

import json
import re
from html import unescape
from pathlib import Path

import nbformat
import pytest
import torch

from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.page_model import describe, explore

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


KATHARINA = (
    "KATHARINA:\nToo light for such a swain as you to catch;\n"
    "And yet as heavy as my weight should be."
)


@pytest.mark.parametrize(
    ("notebook", "prompt", "view", "simple"),
    [
        ("07_multi_head", KATHARINA, "switches", True),
        ("12_generation", "The king ", "next", False),
    ],
)
def test_a_stored_view_is_what_the_shipped_model_gives(notebook, prompt, view, simple):
    cells = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    shown = [output.get("data", {}).get("text/html", "") for output in outputs]
    (stored,) = (html for html in shown if 'data-figure="explorer"' in html and view in html)
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', stored)[1]))
    assert settings["prompt"] == prompt and settings["views"] == [view]
    name = "tiny-shakespeare"
    model, tok = GPT.pretrained(name), CharTokenizer.pretrained(name)
    assert f'data-models="{describe(model, tok)["hash"]}"' in stored
    assert stored == explore(model, tok, prompt, views=[view], simple=simple).placeholder()
    with torch.no_grad():
        top = model(torch.tensor([tok.encode(prompt)]))[0, -1].softmax(dim=0).topk(5)
    rows = re.findall(r"<td>(.*?)</td><td>([\d.]+)%</td>", stored)
    assert [(unescape(token), float(p)) for token, p in rows] == [
        (repr(tok.decode([i])), pytest.approx(100 * p, abs=0.06))
        for p, i in zip(top.values.tolist(), top.indices.tolist(), strict=True)
    ]
