"""The 270 heads of SmolLM2 on a line: what each looks at, and what comes next without some."""

from html import escape

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, still_chances
from scratchformer_course.measurements import load_measurements

SIZES = {"n_layers": 30, "n_heads": 9}


def all_heads() -> LiveFigure:
    """All heads, with the one switched off that the recorded line's end depends on."""
    stored = load_measurements("real_endings")
    found, kinds = stored["heads"], [*stored["settings"]["kinds"], "none of these"]
    name = ".".join(map(str, found["chosen"]))
    recorded = {key: found[key] for key in ("text", "pieces", "kinds", "chosen", "next")}
    recorded["maps"] = {name: found["map"]}
    still = f"{RECORDED}<p>{escape(found['text'])}</p>"
    still += still_chances(("with all heads", f"without {name}"), found["next"])
    settings = {"sizes": SIZES, "kinds": kinds, "recorded": recorded}
    return LiveFigure("all_heads", settings, still)
