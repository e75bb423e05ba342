"""Chapter 23's drawing: what a model reads again of its own answer, and two controls."""

from scratchformer_course.kit.canvas import Drawing

ROWS = (
    ("cups", "its own cups", ("3", "1", "1"), "value"),
    ("dots", "dots", ("·", "·", "·"), "muted"),
    ("another game", "another game's cups", ("5", "2", "4"), "key"),
)


def read_again():
    """Three rows: the same cups are to be written, and other tokens are read in their place."""
    d = Drawing(470, 330, size=14)
    d.text_from(8, 14, "the game", bold=True)
    for i, token in enumerate(("2", "2-3", "1-3", "4-5", "?")):
        d.box(8 + 54 * i, 30, 48, 32, token, "query", 0.12)
    d.text_from(8, 84, "to be written, in all three:  3   1   1   =   1", "value")
    for i, (_, name, tokens, colour) in enumerate(ROWS):
        y = 120 + 72 * i
        d.text_from(8, y, f"what it reads again: {name}", bold=True)
        for j, token in enumerate((*tokens, "=")):
            d.box(8 + 54 * j, y + 14, 48, 32, token, colour if j < 3 else "query", 0.12)
        d.arrow(226, y + 30, 262, y + 30)
        d.text_from(270, y + 30, "1, or not?", "muted")
    return d.show(
        "A game of three swaps: the ball begins at place 2, and the swaps are 2-3, 1-3 and 4-5. "
        "Three models are to write the cups 3, 1, 1 and then the answer 1. What they read of "
        "it, in front of the equals sign, differs: their own cups 3, 1, 1; three dots; or the cups "
        "5, 2, 4 of another game."
    )
