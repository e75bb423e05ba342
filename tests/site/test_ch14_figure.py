"""A translation in a browser: each step shows one row more, and says what it reads."""

from tests.site.browsing import rows
from tests.site.figures import fill, status, stored

FIGURE = "translation_steps"


def check(page, translation, step):
    """The map holds the rows so far, with the shares of each, and the sentence its word."""
    words = [*translation["german"].split(), "⊣"]
    shown = rows(page, ".sx-map")[-len(words) :]
    for t, (row, (name, *cells)) in enumerate(zip(translation["weights"], shown, strict=True)):
        assert name == (words[t] if t < step else "…")
        for share, text in zip(row, cells, strict=True):
            if t >= step or share < 0.045:
                assert text == ""
            else:
                assert abs(int(text) - 100 * share) <= 0.51
    written = " ".join(["⊢", *words[: step - 1]])
    assert status(page).startswith(f"After {written} it reads mostly ")
    assert f"and writes {words[step - 1]}" in status(page)


def test_each_step_adds_a_row_and_another_sentence_starts_at_its_first_word(page):
    settings = stored("14", FIGURE).settings
    translations = settings["translations"]
    translation = translations[settings["start"]]
    for step in (1, len(translation["weights"]), 3):
        fill(page, Step=step)
        check(page, translation, step)
    assert page.locator(".sx-now").count() == 1
    for i in (0, len(translations) - 1):
        page.get_by_label("Sentence", exact=True).select_option(str(i))
        check(page, translations[i], 1)
        fill(page, Step=2)
        check(page, translations[i], 2)
