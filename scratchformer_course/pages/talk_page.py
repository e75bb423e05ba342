"""The page *Talk*: a recorded answer of the real model, and in the browser a talk with it."""

from html import escape

from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import plain_table, table
from scratchformer_course.measurements import load_measurements

HEAD = [24, 5]  # block and head that are shown first: chapter 06's


def talk() -> LiveFigure:
    """The figure: what lab/real_talk.py has stored, until the reader loads the model."""
    stored = load_measurements("real_talk")
    settings = {name: stored[name] for name in ("prompt", "answer", "word", "attention", "lens")}
    settings |= {"question": stored["settings"]["question"], "head": HEAD}
    answer, word = stored["answer"], stored["answer"][stored["word"]]["text"]

    def row(token: dict) -> tuple[str, str]:
        return escape(repr(token["text"])), f"{token['p']:.1%}"

    said = "".join(token["text"] for token in answer)
    still = (
        "<p>This figure is live where JavaScript runs: there a press loads the model, 98 MB, and "
        "you talk with it. This answer was recorded.</p>"
        f"<p><b>{escape(settings['question'])}</b></p><p>{escape(said)}</p>"
        "<p>The chance of each of its tokens:</p>"
        + plain_table(("token", "chance"), [row(token["top"][0]) for token in answer])
        + f"<p>What might have come in place of {escape(repr(word))}:</p>"
        + plain_table(("token", "chance"), [row(token) for token in answer[stored["word"]]["top"]])
        + "<p>And what would have come there if the model ended earlier:</p>"
        + table(
            ("after block", "token", "chance"),
            [(i, *row(best)) for i, (best, *_) in enumerate(stored["lens"])],
        )
    )
    return LiveFigure("talk", settings, still)
