"""The scripts and styles of every live figure: the one place that knows them.

A notebook puts them into its output when it shows a figure, the site beside the pages that hold
one. Stored outputs name the figure alone, so a script can be renamed without executing a chapter.
"""

from collections.abc import Mapping
from typing import Any

# what every figure needs, in the course's folder; the site has the loader on every page
LOADER, SCRIPT = "kit/figure/loader.js", "kit/figure/live_figure.js"
STYLE = "kit/figure/live_figure.css"
MODEL, TOKENIZER = "page_model/model.js", "page_model/tokenizer.js"
EXPLORER = (
    "page_model/explorer.css",
    *(MODEL, TOKENIZER, "page_model/scene.js", "page_model/explorer.js"),
)


def _in(chapter: str) -> tuple[str, ...]:
    """The style and the script of a chapter's slice."""
    return (f"{chapter}/live.css", f"{chapter}/live.js")


def _views(*names: str) -> tuple[str, ...]:
    return tuple(f"page_model/views/{name}.js" for name in names)


TEXT_SLIDER = ("kit/figure/text_slider.css", "kit/figure/text_slider.js")
TRAINER = (
    # what a worker runs
    *("kernels", "matrix", "trainer", "text", "counts", "session", "export"),
    # what the page runs
    *("workers", "owntext", "controls", "plot", "film", "score", "talk", "picture"),
    *("kept", "result", "race"),
)
# by the name that the script registers; the first in a row is loaded first
FILES = {
    "opening_film": ("pages/opening_film.css", "pages/opening_film.js"),
    "flow": ("pages/flow.css", "pages/flow.js"),
    "explorer": EXPLORER,  # and its views
    "race": (
        *EXPLORER,
        *_views("attention", "next", "switches", "lens"),
        "tab_trainer/race.css",
        *(f"tab_trainer/{name}.js" for name in TRAINER),
    ),
    "merges": (TOKENIZER, *_in("ch01_bpe")),
    "word_map": _in("ch02_embeddings"),
    "clock_hands": _in("ch03_positions"),
    "first_sample": TEXT_SLIDER,
    "parabola": _in("ch04_first_network"),
    "weighted_past": (MODEL, *_in("ch05_averaging")),
    "attention_steps": (MODEL, *_in("ch06_self_attention")),
    "turning_pairs": _in("ch08_rotary"),
    "block_switches": (MODEL, *_in("ch09_block")),
    "rungs_write": TEXT_SLIDER,
    "time_machine": (*EXPLORER, *_views("attention"), *_in("ch11_training")),
    "fill_gaps": (MODEL, "page_model/bert.js", *_in("ch13_bert")),
    "translation_steps": _in("ch14_encoder_decoder"),
    "costs": _in("ch15_costs"),
    "law": _in("ch16_scaling"),
    "lines": _in("ch19_since_gpt2"),
    "draft_ahead": (*EXPLORER, *_in("ch20_inference")),
    "fewer_bits": (*EXPLORER, *_in("ch20_inference")),
    "answers": _in("ch21_answers"),
    "silence": _in("ch22_inside"),
    "two_curves": _in("ch23_silent_bugs"),
    "clinic": _in("ch23_silent_bugs"),
}


def files_of(name: str, settings: Mapping[str, Any]) -> list[str]:
    """What the figure `name` needs besides `SCRIPT` and `STYLE`, in the order of loading.

    The explorer's settings name its views. Raises ValueError for a name that no script registers.
    """
    if name not in FILES:
        raise ValueError(f"the live figure {name!r} has no scripts, expected one of {[*FILES]}")
    views = _views(*settings.get("views", ())) if name == "explorer" else ()
    return [*FILES[name], *views]
