"""The live figures: one table of what each is made from, and of what a reader does with it.

`test_figures.py` holds what is true of all of them. What is particular to one stands in
`test_stored_figures.py` and `test_moved_figures.py`.
"""

import functools
import json
import math
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus
from scratchformer.models import BERT, GPT
from scratchformer.shipped import shipped_words
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.stored_steps import load_checkpoints
from scratchformer_course.ch13_bert.live import describe_bert
from scratchformer_course.ch15_costs.live import costs
from scratchformer_course.ch20_inference.counts import describe_counts
from scratchformer_course.ch20_inference.live import draft_ahead, exact, fewer_bits, one_weight
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model import describe, explore
from scratchformer_course.pages.flow import flow
from scratchformer_course.pages.opening_film import opening_film
from scratchformer_course.pages.side_by_side.live import diff
from scratchformer_course.pages.talk_page import talk
from scratchformer_course.tab_trainer import race
from tests.site.browsing import open_folds

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NAME, PROMPT = "tiny-shakespeare", "ROMEO:\nWhat light through"  # the shipped model, and a prompt
LONG_WORDS = "Donaudampfschifffahrtsgesellschaft " + "語" * 60 + "the king " * 30
PARTS = r'data-models="(.*?)".*?data-settings="(.*?)">(.*)</div>$'


@functools.cache
def outputs() -> dict[str, tuple[str, str]]:
    """By the chapter's number and the figure's name, and by the name alone: what is stored."""
    html = {
        (path.name[:2], name): shown
        for path in sorted(NOTEBOOKS.glob("*.ipynb"))
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", ())
        for shown in [output.get("data", {}).get("text/html", "")]
        for name in re.findall(r'data-figure="(\w+)"', shown)
    }
    return html | {("", name): shown for (_, name), shown in html.items()}


def stored(chapter: str, name: str) -> LiveFigure:
    """The figure that a chapter's, or any ("") chapter's, stored output holds, with its models."""
    models, settings, still = re.search(PARTS, outputs()[chapter, name], re.S).groups()
    descriptions = [described()[model] for model in models.split()]
    return LiveFigure(name, json.loads(unescape(settings)), still, descriptions)


@functools.cache
def described() -> dict[str, dict[str, Any]]:
    """What is shipped, by hash, as pages carry it."""
    gpt, tok = shipped()
    models = [gpt, *(model for _, model in load_checkpoints())]
    bert = "english-german"
    descriptions = [
        *(describe(model, tok) for model in models),
        exact(gpt, tok),
        describe_counts(),
        describe_bert(BERT.pretrained(bert), shipped_words(bert)),
    ]
    return {description["hash"]: description for description in descriptions}


def patching() -> LiveFigure:
    """Two texts of the longest way to the answer."""
    texts = [f"Whence are you, sir? {word} may I call your name" for word in ("what", "thus")]
    return explore(*shipped(), texts[0], views=["patch", "switches"], altered=texts[1])


@functools.cache
def shipped() -> tuple[GPT, CharTokenizer]:
    return GPT.pretrained(NAME), CharTokenizer.pretrained(NAME)


def short_race() -> LiveFigure:
    """The race on a short text of Playhouse, with the curves that stand beside Shakespeare."""
    return race(Corpus("tinyshakespeare", Playhouse().text(40_000), "directory"))


# ---- what a reader does, until the figure is as full as it gets ----


def press(page: Any, *names: str) -> None:
    for name in names:
        page.get_by_role("button", name=name, exact=True).click()


def fill(page: Any, **fields: Any) -> None:
    """Fields and sliders by their labels, in which _ stands for a space."""
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(str(value))


def status(page: Any) -> str:
    """What the figure says of itself."""
    return page.locator(".sx-status").first.inner_text()


def drag(page: Any, places: list[tuple[float, float]], by: str = "mouse") -> None:
    """Hold the drawing at the first place, by mouse or touch, and let go at the last.

    Places are in the units of the drawing that has grips.
    """
    seen = page.locator("svg:has(.sx-grip)").evaluate(
        """(svg, places) => {
          svg.scrollIntoView({block: "center"});
          return places.map(([x, y]) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()))
            .map(({x, y}) => ({x, y}));
        }""",
        places,
    )
    devtools = page.context.new_cdp_session(page)

    def touch(kind: str, *points: dict[str, float]) -> None:
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    for i, point in enumerate(seen):
        if by == "touch":
            touch("touchMove" if i else "touchStart", point)
        else:
            page.mouse.move(point["x"], point["y"])
            if not i:
                page.mouse.down()
    if by == "touch":
        touch("touchEnd")
    else:
        page.mouse.up()


def around(
    middle: tuple[float, float], radius: float, start: float, turn: float
) -> list[tuple[float, float]]:
    """Places on a way around a middle: angles in radians, clockwise from the right."""
    angles = [start + turn * i / 20 for i in range(21)]
    return [(middle[0] + radius * math.cos(a), middle[1] + radius * math.sin(a)) for a in angles]


def doing(*names: str, **fields: Any) -> Callable[[Any], None]:
    """Press these buttons, then fill these fields."""

    def do(page: Any) -> None:
        press(page, *names)
        fill(page, **fields)

    return do


def edit_matrices(page: Any) -> None:
    page.get_by_label("W_k, article to noun").fill("-12.25")
    page.get_by_label("W_q, royal to verb").fill("-98.75")
    page.get_by_label("Mask").check()
    press(page, "sleeps asks")


def turn_fast(page: Any) -> None:
    page.get_by_label("W_q, cos to cos").fill("-98.75")
    fill(page, Hand_speed=2.9)


def turn_the_actor(page: Any) -> None:
    """The second sentence becomes: The actor paid the doctor."""
    page.get_by_label("Sentence 2: first noun").select_option("actor")
    page.get_by_label("Sentence 2: second noun").select_option("doctor")
    page.get_by_label("Sentence 2: verb").select_option("paid")


def explode(page: Any) -> None:
    """Twelve blocks without norms, whose numbers are the widest."""
    press(page, "12 blocks")
    page.get_by_role("switch", name="Norm", exact=True).click()
    open_folds(page, ".live-figure")
    fill(page, Look_at_block=12)


def steepen(page: Any) -> None:
    """AdamW and noise in the steepest valley, of which plain descent has flown out."""
    press(page, "Next step")
    fill(page, Steepness=10)
    for name in ("AdamW", "noise", "falling rate"):
        page.get_by_role("switch", name=name).check()


def one_head_and_its_plus(page: Any) -> None:
    """A rung with a head, and with the plus signs, which do nothing before."""
    page.get_by_role("switch", name="plus signs").click()
    press(page, "1")
    assert status(page) == "Losses 2.46, 2.47 and 2.46: 3 of 3 below the pairs."


def switch_a_head_off(page: Any) -> None:
    """A word hidden, a head switched off, and words that the model does not know."""
    press(page, "YORK:", "4.2")
    page.get_by_role("switch", name="switched off").click()
    fill(page, Scene_1=LONG_WORDS + "\nDUKE ")


def fold_the_plane(page: Any) -> None:
    """The points moved by keys, and the smoothest bend."""
    press(page, "GELU")
    for point in page.locator(".sx-point").all():
        point.focus()
        page.keyboard.press("ArrowUp")


def gate_and_sky(page: Any) -> None:
    """The longest answer of those with one other line."""
    page.get_by_role("switch", name="Gate").click()
    press(page, "Why is the sky blue?")


def small(page: Any, steps: int = 20, context: int = 4, width: int = 5) -> None:
    """Settings of the race that train in a second."""
    open_folds(page, ".live-figure")
    fill(page, Steps=steps, Context=context, Width=width)


def trained(page: Any) -> dict[str, Any]:
    page.wait_for_function("course.race.last !== null", timeout=120_000)
    return page.evaluate("course.race.last")


def train_and_look(page: Any) -> None:
    small(page)
    press(page, "Train a GPT in this tab")
    trained(page)
    press(page, "Look inside")


def write_ahead(page: Any) -> None:
    """Both texts to their end."""
    press(page, "Write")
    ended = page.locator(".sx-status", has_text=re.compile("At this temperature|Both have"))
    ended.wait_for(timeout=60_000)


def three_bits(page: Any) -> None:
    """Bits at which the text is another one."""
    fill(page, Bits=1)
    page.locator(".sx-status").get_by_text("16 bits").wait_for(timeout=60_000)


def choose_two(page):
    page.get_by_label("First model").select_option("GPT-2")
    page.get_by_label("Second model").select_option("DeepSeek-V4 Flash")


class Figure(NamedTuple):
    """Where a figure comes from, and what a reader may do with it."""

    make: Callable[[], LiveFigure]
    use: Callable[[Any], Any]


def fill_the_card(page):
    page.get_by_role("button", name="Measure this tab").click()
    page.locator(".sx-status", has_text="one core copies").wait_for()
    page.get_by_label("Bandwidth of your memory, in GB/s").fill("20")
    page.get_by_label("Your forecast, in tokens a second").fill("7")


# what a reader does with a figure that a chapter stores
STORED = {
    "own_forecast": doing(Day_1=20, Day_3=20),
    "two_shapes": lambda page: page.get_by_role("switch", name="keepdim of forecast").check(),
    "merges": doing("All merges", Text=LONG_WORDS),
    "real_tokens": doing(Text=LONG_WORDS),
    "word_map": doing("queen"),
    "clock_hands": doing(Place=40, Distance=44),
    "own_speeds": doing(Hand_0=52, Hand_1=50, Hand_2=47),
    "first_sample": doing(Steps_of_training=3),
    "parabola": doing("1.05", *["10 steps"] * 6),
    "tape_steps": doing(*["◀ Step back"] * 3, w1=1.5),
    "weighted_past": doing("window of 2", "old looks", Score_of_king=-3.9),
    "hidden_words": doing("Whence", "your"),
    "attention_steps": edit_matrices,
    "near_noun": turn_fast,
    "transplant": doing(Times=40),
    "turning_pairs": doing("100 words in front"),
    "block_switches": explode,
    "fold": fold_the_plane,
    "hidden_number": doing(Set_it_to=10, Your_line="hand in hand and foot " * 9),
    "rungs_write": doing(Model=8),
    "rung_switches": one_head_and_its_plus,
    "two_scenes": switch_a_head_off,
    "time_machine": doing(Steps_of_training=15),
    "valley": steepen,
    # as many gaps as fit, and words that the model does not know
    "fill_gaps": doing(English="a _ _ must _ _ the tiger", German="_ _ _ Donaudampfschiff"),
    "turned_texts": doing(Object_first=3),
    "two_sentences": turn_the_actor,
    "wager": fill_the_card,
    "hidden_source": doing("small"),
    "spoken_words": doing("prudently"),
    "swapped_halves": doing("halves swapped", "prudently"),
    "law": doing("Train it", "Show all sizes"),
    "lines": gate_and_sky,
    "fixed_table": doing("Write eight", "delta rule", "Change a letter", "Write eight"),
    "ball_and_cups": doing("10,000 swaps"),
    "answers": doing("base model", Question=7),
    "tuned_reward": doing("careful pupils", "β = 0.3", A_right_answer_that_borrows_earns=3),
    "cups": doing("Swap", "4", "Ask a model", "Let it write"),
    "silence": lambda page: page.locator(".sx-song-tiles button").nth(2).click(),
    "two_curves": doing("A is broken", "Next pair"),
    # SmolLM2's, as recorded: tests/site/test_real_endings.py loads a model into them
    "real_head": doing("24.4"),
    "all_heads": lambda page: page.locator("[data-row='3'][data-column='11']").focus(),
    "five_rules": doing("m = 0.1"),
    "tab_speed": doing("Bet: they add up"),
    "capital_patch": doing("24.4"),
    "far_start": doing("float64", "queries alone", The_text_begins_at=8),
    "clinic": doing("May a later token matter?", "Heads are merged by a bare reshape"),
}
FIGURES = {
    name: Figure(functools.partial(stored, "", name), use) for name, use in STORED.items()
} | {
    "costs": Figure(costs, doing("GPT-2 XL", "mixed precision")),
    "opening_film": Figure(opening_film, doing(Training=3)),
    "flow": Figure(
        lambda: flow(lambda n: (f"{n}.html", "A title")), lambda page: page.keyboard.press("Home")
    ),
    "model_diff": Figure(diff, choose_two),
    "talk": Figure(talk, doing("number", "The, 15.2 %")),
    "heads_out": Figure(lambda: stored("07", "explorer"), doing("Switch off head 1 of block 1")),
    "draft_ahead": Figure(lambda: draft_ahead(*shipped()), write_ahead),
    "fewer_bits": Figure(
        lambda: fewer_bits(*shipped(), load_measurements("page_bits")), three_bits
    ),
    "one_weight": Figure(one_weight, doing("its neighbour", "2 bits")),
    "explorer": Figure(lambda: explore(*shipped(), PROMPT), doing()),
    "patching": Figure(
        patching, lambda page: page.locator(".sx-status", has_text="Computed").wait_for()
    ),
    "race": Figure(short_race, train_and_look),
}
