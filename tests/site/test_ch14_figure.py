"""A translation in a browser: each step shows one row more, and says what it reads."""

import pytest

from tests.site.figures import fill, stored

FIGURE = "translation_steps"


@pytest.fixture(scope="module")
def settings():
    return stored("14", FIGURE).settings


def check(page, translation, step):
    """The map holds the rows so far, with the shares of each, and the sentence its word."""
    shown = page.locator(".sx-map tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    words = [*translation["german"].split(), "⊣"]
    assert len(shown) == len(words)
    for t, (row, (name, *cells)) in enumerate(zip(translation["weights"], shown, strict=True)):
        assert name == (words[t] if t < step else "…")
        for share, text in zip(row, cells, strict=True):
            if t >= step or share < 0.045:
                assert text == ""
            else:
                assert abs(int(text) - 100 * share) <= 0.51
    said = page.locator(".sx-status").inner_text()
    written = ["⊢", *words[: step - 1]]
    assert said.startswith(f"After {' '.join(written)} it reads mostly ")
    assert f"and writes {words[step - 1]}" in said


def test_each_step_adds_a_row(page, settings):
    translation = settings["translations"][settings["start"]]
    last = len(translation["weights"])
    for step in (1, 2, last - 1, last, 3):
        fill(page, Step=step)
        check(page, translation, step)
    assert page.locator(".sx-now").count() == 1


def test_another_sentence_starts_at_its_first_word(page, settings):
    for i, translation in enumerate(settings["translations"]):
        page.get_by_label("Sentence", exact=True).select_option(str(i))
        check(page, translation, 1)
        fill(page, Step=2)
        check(page, translation, 2)
