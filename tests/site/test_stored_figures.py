"""What a reader chooses in a figure is what it then tells.

All calculations of the figures are compared with Python's in tests/chapters/; here each is chosen
from once.
"""

import pytest

from scratchformer_course.ch17_speedrun import drawings
from tests.site.browsing import LIVE, opened
from tests.site.figures import FIGURES, doing, fill, press


def slide(page):
    press(page, "GPT-2 small")
    page.get_by_label("Layers, L").press("ArrowRight")


def score_a_word(page):
    fill(page, Score_of_king=3)  # e³ / (e³ + 3) = 0.87
    press(page, "old looks")


def silence_two_heads(page):
    for i in (2, 1):
        page.locator(".sx-song-tiles button").nth(i).click()


def without_norms(page):
    page.get_by_role("switch", name="Norm", exact=True).press("Space")
    press(page, "12 blocks")


def frame(settings, i):
    return [settings["frames"][i]["told"], settings["frames"][i]["text"]]


def said_by_gate(settings):
    loss, answers = next(rest for names, *rest in settings["said"] if names == ["gate"])
    return [f"{loss:.2f}", answers[2].strip()]


def answers_of_base(settings):
    base = next(film for name, _, film in settings["stages"] if name == "base")
    return [answer.replace("\n", "⏎") for answer in base[0]["answers"]]


def without_heads(settings):
    number, notes = 1 << 2 | 1 << 1, len(settings["song"])
    best = settings["best"][(notes - 1) * number : (notes - 1) * (number + 1)]
    return [f"loss {settings['losses'][number]:.2f}", best]


# what a reader does, and what the figure then says
TOLD = {
    "first_sample": (doing(Steps_of_training=2), lambda settings: frame(settings, 2)),
    "weighted_past": (
        score_a_word,
        lambda _: ["0.87", "hides king and sleeps", "old takes 50 % each from the and old."],
    ),
    "block_switches": (without_norms, lambda _: ["After 12 blocks: “hush” above 0.5 at"]),
    "rungs_write": (doing(Model=2), lambda settings: frame(settings, 2)),
    "fill_gaps": (
        doing("Hide the German text", English="a tiger sees every _"),
        lambda _: ["does not know “tiger”", "a ▢ sees", "every ▢"],
    ),
    "translation_steps": (
        doing(Step=2),
        lambda settings: [f"and writes {settings['translations'][0]['german'].split()[1]}"],
    ),
    "costs": (slide, lambda _: [f"{124_439_808 + 4 * 7_087_872:,}"]),  # four blocks more
    "law": (doing("Train it", "Show all sizes"), lambda _: ["Hide the law", "The best size is"]),
    "lines": (FIGURES["lines"].use, said_by_gate),
    "answers": (doing("base model", Question=0), answers_of_base),
    "silence": (silence_two_heads, without_heads),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_choice_changes_what_is_told(browser, saved, name):
    act, expected = TOLD[name]
    with opened(browser, saved(name)) as page:
        page.locator(LIVE).wait_for()
        figure, texts = page.locator(LIVE), expected(FIGURES[name].make().settings)
        before = figure.text_content()
        assert not all(text in before for text in texts)
        act(page)
        text_after = figure.text_content()
        assert [text for text in texts if text not in text_after] == [], text_after


def test_the_race_of_two_bars_is_filled_before_it_starts_and_then_takes_its_real_time(browser):
    page = browser.new_page()
    page.set_content(drawings.clock(("fast", 1.59), ("slow", 110.0)).data)
    bars, still = page.locator(".course-clock span"), page.get_by_text("After 1.6 seconds:")
    widths = bars.evaluate_all("bars => bars.map(bar => bar.clientWidth)")
    assert widths[0] > 60 * widths[1] and still.is_visible()
    page.get_by_role("checkbox", name="Start the race").press("Space")
    running = "bars => bars.map(bar => bar.getAnimations()[0].effect.getTiming().duration)"
    assert bars.evaluate_all(running) == [1590, 110_000] and not still.is_visible()
    page.close()
