"""The guesses: each answer is what the stored output of its chapter shows.

A guess stands in a markdown cell as an empty element (see book/_assets/guess.js). Its attribute
`data-output` is a regular expression that fits the output beside it if the answer is right, or the
code of a cell that draws. Where prose answers, the covered prose must hold the numbers.
"""

import re
from html import unescape
from pathlib import Path

import nbformat
import pytest
from readers import NOTEBOOKS, ROOT

from book._ext.guess_ext import MARKER
from tests.node import Node
from tests.quoted_numbers import absent

PAGES = sorted((ROOT / "book").glob("*.md"))
KNOWN = {"class", "data-question", "data-ask", "data-choices", "data-unit", "data-answer"}


def parts(text: str) -> list[str]:
    return [part.strip() for part in text.split("|")]


def cells_of(path: Path) -> list[nbformat.NotebookNode]:
    """The cells of a notebook; a page is one of prose."""
    if path.suffix == ".md":
        return [nbformat.v4.new_markdown_cell(path.read_text(encoding="utf-8"))]
    return nbformat.read(path, as_version=4).cells


def shows_something(cell):
    """Whether a cell has an output that is neither folded nor a live figure."""
    is_live = any("live-figure" in str(output.get("data")) for output in cell.get("outputs", []))
    return cell.get("outputs") and "hide-cell" not in cell.metadata.get("tags", []) and not is_live


def text_of(cell):
    """What a cell printed, without whose function goes on; the code for a figure."""
    texts = [out["text"] for out in cell.outputs if out.output_type == "stream"]
    for out in cell.outputs:
        if out.output_type == "execute_result" and "text/html" not in out.data:
            texts.append(out.data["text/plain"])
    return re.sub(r"^(From here on: .*\n)+", "", "".join(texts)) or cell.source


def covered(prose, question):
    """The prose between a guess and its end."""
    _, asked, after = prose.partition(f'class="course-guess" data-question="{question}"')
    answer, end, _ = after.partition(f'-guess-end" data-question="{question}"')
    assert asked and end, f"{question} has no end"
    return answer.partition("</div>")[2]


def guesses():
    """(page/question, attributes, the text that answers), of chapters and other pages."""
    for path in (*NOTEBOOKS, *PAGES):
        cells = cells_of(path)
        sources = [cell.source if cell.cell_type == "markdown" else "" for cell in cells]
        page = path.stem if path.suffix == ".md" else path.stem[:2]
        for i, source in enumerate(sources):
            for tag in MARKER.finditer(source):
                attrs = {n: unescape(v) for n, v in re.findall(r'([\w-]+)="([^"]*)"', tag[0])}
                if attrs["class"] != "course-guess":
                    continue
                if "data-output" in attrs:
                    text = text_of(next(filter(shows_something, cells[i + 1 :])))
                else:
                    text = covered("\n\n".join(sources), attrs["data-question"])
                yield f"{page}/{attrs['data-question']}", attrs, text


GUESSES = list(guesses())
of_all = pytest.mark.parametrize(
    ("name", "attrs", "text"), GUESSES, ids=[name for name, *_ in GUESSES]
)


@of_all
def test_the_answer_is_what_the_page_shows(name, attrs, text):
    if "data-output" in attrs:
        assert re.search(attrs["data-output"], text, re.MULTILINE), text
        assert set(attrs) <= KNOWN | {"data-output"}
    else:
        assert attrs["data-answer-is"] == "prose" and re.search(r"\w", text)
        assert "data-choices" in attrs or not absent(text, *parts(attrs["data-answer"]))
        assert set(attrs) <= KNOWN | {"data-answer-is"}


@of_all
def test_a_form_can_take_the_right_answer(name, attrs, text):
    options, answers = parts(attrs.get("data-choices", "")), parts(attrs["data-answer"])
    if "data-choices" in attrs:
        assert 2 <= len(set(options)) == len(options) <= 5 and attrs["data-answer"] in options
    else:
        assert len(answers) == 1 or len(parts(attrs["data-ask"])) == len(answers) <= 3


def test_a_page_asks_each_question_once_and_few():
    names = [name for name, *_ in GUESSES]
    pages = [name.split("/")[0] for name in names]
    assert len(set(names)) == len(names) > 55 and max(map(pages.count, pages)) <= 6


def test_every_numeric_answer_can_be_read_by_the_page():
    numeric = [attrs for _, attrs, _ in GUESSES if "data-choices" not in attrs]
    texts = [answer for attrs in numeric for answer in parts(attrs["data-answer"])]
    in_node = Node(guess="../book/_assets/guess-verdicts.js")
    read = in_node("return input.texts.map(guess.parse)", texts=texts)
    for text, number in zip(texts, read, strict=True):
        top, _, bottom = text.replace(",", "").partition("/")
        assert number == pytest.approx(float(top) / float(bottom or 1))
