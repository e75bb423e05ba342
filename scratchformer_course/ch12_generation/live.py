"""One beginning, five rules: what SmolLM2 writes by each of them."""

from html import escape

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, table
from scratchformer_course.measurements import load_measurements

MOST = 100  # tokens that are written in a page


def five_rules() -> LiveFigure:
    """The rules of the chapter, with what was recorded for each."""
    stored = load_measurements("real_endings")
    text, rules = stored["settings"]["night"], stored["settings"]["rules"]
    settings = {"text": text, "most": MOST, "rules": []}
    settings["rules"] = [[name, rules[name], said] for name, said in stored["rules"].items()]
    rows = [(escape(name), escape("".join(said))) for name, said in stored["rules"].items()]
    still = f"{RECORDED}<p>{escape(text)} …</p>" + table(("rule", "SmolLM2 goes on"), rows)
    return LiveFigure("five_rules", settings, still)
