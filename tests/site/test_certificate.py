"""The certificate of a reader's ticks: made in the page, checked by `climb --verify`."""

import json

import pytest

from scratchformer_course.blank import certificate
from tests.node import Node

in_node = Node(S="real_model/sha256.js", C="../book/_assets/certificate.js")
SUMS = {"chapters": 12, "allChapters": 26, "written": 5, "workedOut": 1, "allExercises": 80}
LINE = """const parts = C.partsOf(input.name, '2026-11-29', 'scratchformer 0.2.0', new Set(['01']),
  input.sums); return [C.lineOf(parts), C.pictureOf(input.picture, parts)];"""
PICTURE = certificate.drawing("NAME", ("has done CHAPTERS", "and EXERCISES."), ["DAY", "TICKS"])


def test_the_line_of_a_page_is_verified_and_a_changed_one_is_not(tmp_path):
    line, _ = in_node(LINE, name="Ada |  Lovelace", sums=SUMS, picture="")
    path = tmp_path / "certificate.txt"
    path.write_text(f"{line}\n", "utf-8")
    words = certificate.verify(path)
    assert words.startswith("Ada Lovelace: 12 of 26 chapters") and "2026-11-29" in words
    path.write_text(line.replace("12 of", "26 of"), "utf-8")
    with pytest.raises(SystemExit, match="was changed"):
        certificate.verify(path)


def test_a_name_cannot_bring_markup_into_the_picture():
    _, picture = in_node(LINE, name="<script>& Ärzte DAY", sums=SUMS, picture=PICTURE)
    assert "<script" not in picture and "&lt;script&gt;&amp; Ärzte DAY" in picture
    assert "12 of 26 chapters" in picture and "2026-11-29" in picture


def test_the_welcome_page_makes_one_of_the_ticks_and_says_what_it_proves(visit, tmp_path):
    ticks = {"course": "Transformers from Scratch", "what": "progress", "version": 1}
    stored = json.dumps(json.dumps(ticks | {"done": ["00", "01", "1.1", "1.2 worked out"]}))
    script = f"localStorage.setItem('course-progress', {stored});"
    with visit("book/welcome", script=script, faults=[]) as page:
        form = page.locator(".course-certificate")
        form.get_by_role("button").click()
        told = page.locator(".course-certificate + div")
        assert "name" in told.inner_text()
        form.get_by_role("textbox").fill("Ada Lovelace")
        form.get_by_role("button").click()
        assert "does not prove who" in told.inner_text()
        with page.expect_download() as download:
            told.get_by_role("link", name="certificate.txt").click()
        download.value.save_as(tmp_path / "certificate.txt")
        assert told.locator("img").evaluate("e => e.decode().then(() => e.naturalWidth > 0)")
    words = certificate.verify(tmp_path / "certificate.txt")
    assert words.startswith("Ada Lovelace: 2 of 27 chapters, 1 of 80 exercises written")
