"""Two beginnings, five rules: what SmolLM2 writes by each of them."""

from html import escape

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, table
from scratchformer_course.measurements import load_measurements

MOST = 100  # tokens that are written in a page
RUN = 4  # tokens that were said before, side by side, are marked


def five_rules() -> LiveFigure:
    """The rules of the chapter, with what was recorded for each."""
    stored = load_measurements("real_endings")
    texts = [stored["settings"][name] for name in ("night", "circle")]
    said = {name: [stored[part][name] for part in ("rules", "circled")] for name in stored["rules"]}
    rules = [[name, given, said[name]] for name, given in stored["settings"]["rules"].items()]
    settings = {"texts": texts, "most": MOST, "rules": rules}
    first, second = (
        table(
            ("rule", f"{escape(text)} …"),
            [(escape(name), _marked(pieces[i])) for name, pieces in said.items()],
        )
        for i, text in enumerate(texts)
    )
    still = f"{RECORDED}{first}<details><summary>From the circle</summary>{second}</details>"
    return LiveFigure("five_rules", settings, still)


def _marked(pieces: list[str]) -> str:
    """The text, with a mark at each token that ends a run which occurred before."""
    runs = [tuple(pieces[max(0, t + 1 - RUN) : t + 1]) for t in range(len(pieces))]
    said = [len(run) == RUN and run in runs[:t] for t, run in enumerate(runs)]
    shown = [escape(piece).replace("\n", "<br>") for piece in pieces]
    marked = [f"<mark>{s}</mark>" if old else s for s, old in zip(shown, said, strict=True)]
    return "".join(marked).replace("</mark><mark>", "")
