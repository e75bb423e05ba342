"""What a reader chooses in a figure is what it then tells.

All calculations of the figures are compared with Python's in tests/chapters/.
"""

import pytest

from scratchformer_course.ch17_speedrun import drawings
from tests.site.browsing import LIVE, opened
from tests.site.figures import FIGURES


def frame(settings, i):
    return [settings["frames"][i]["told"], settings["frames"][i]["text"]]


def said_by_gate(settings):
    loss, answers = next(rest for names, *rest in settings["said"] if names == ["gate"])
    return [f"{loss:.2f}", answers[2].strip()]


def answers_of_base(settings):
    base = next(film for name, _, film in settings["stages"] if name == "base")
    return [answer.replace("\n", "⏎") for answer in base[7]["answers"]]


def shares_of_a_reward(settings):
    runs = settings["pupils"][1][1]
    run = next(run for run in runs[1:] if (run["worth"], run["beta"]) == (8, 0.3))
    return [f"Of the right answers {run['with_borrow']:.2f} borrow"]


def without_a_head(settings):
    number, notes = 1 << 2, len(settings["song"])
    best = settings["best"][(notes - 1) * number : (notes - 1) * (number + 1)]
    return [f"loss {settings['losses'][number]:.2f}", best]


# what a figure says after what a reader does with it (figures.py)
TOLD = {
    "first_sample": lambda settings: frame(settings, 3),
    "weighted_past": lambda _: ["old takes 50 % each from the and old. The mask hides king"],
    "block_switches": lambda _: ["After 12 blocks: “hush” above 0.5 at"],
    "rungs_write": lambda settings: frame(settings, 8),
    "fill_gaps": lambda _: ["does not know “tiger”, “Donaudampfschiff”", "Gap 9"],
    "turned_texts": lambda settings: [f"{settings['runs'][3][1]} of 200"],
    "two_sentences": lambda _: [
        "say different things, and their cosine is 0.991. You have fooled it"
    ],
    "hidden_source": lambda _: ["Without “small” it writes: der Hund kann die Katze sehen"],
    "spoken_words": lambda settings: [
        f"it writes prudently, the head reads most at {settings['instants'][0][14]:.2f} s"
    ],
    "swapped_halves": lambda settings: [
        f"it writes prudently, the head reads most at {settings['instants'][1][14]:.2f} s"
    ],
    "wager": lambda _: ["Both are written down"],
    "tab_speed": lambda _: [
        "In the recorded run the products of a token took 21.6 ms",
        "you have won",
    ],
    "costs": lambda _: ["copies in 16 bits"],
    "law": lambda _: ["Hide the law", "The best size is"],
    "lines": said_by_gate,
    "answers": answers_of_base,
    "tuned_reward": shares_of_a_reward,
    "cups": lambda _: ["Right in", "Of 200 games it has 64 right", "it has 200 right"],
    "silence": without_a_head,
    "model_diff": lambda _: ["lacks 4 of the ten for GPT-2", "a table of 1,024", "36.9 kB"],
    "two_curves": lambda _: ["Pair 2 of 8"],
    "clinic": lambda settings: [settings["patients"][0]["asked"][0] or "✓ as it should be"],
}


@pytest.mark.parametrize("name", TOLD)
def test_a_choice_changes_what_is_told(browser, saved, name):
    with opened(browser, saved(name)) as page:
        page.locator(LIVE).wait_for()
        figure, texts = page.locator(LIVE), TOLD[name](FIGURES[name].make().settings)
        before = figure.text_content()
        assert not all(text in before for text in texts)
        FIGURES[name].use(page)
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
