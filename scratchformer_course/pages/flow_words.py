"""What the figure of a prompt on its way tells of each stage, with the numbers in its sentences.

`flow.js` fills the same sentences with the numbers of what a reader has typed.
"""

from scratchformer_course.pages.flow_numbers import CELLS, Numbers

OPENING = (
    "“{text}” has gone through the model. What you type in the field above takes its place. With "
    "*Next* and *Back*, or the arrow keys, you follow it from stage to stage."
)
SENTENCES = [  # what each stage does, in plain words
    "“{text}” is cut into tokens, here single characters, and each has a number.{left_out}",
    "Each token becomes a vector: learned numbers for the character and for its place. "
    f"The squares are the first {CELLS} of them.",
    "A head lets each position read itself and those before it. The first one here gives the "
    "character before it {back} % of its attention, on average. In the second, the last position "
    "gives no character more than {most} %.",
    "The model has {blocks} blocks, each of attention (blue) and a small network (green), and they "
    "add to the vectors. The letters are what the last vector would guess so far: first {first}, "
    "in the end {last}.",
    "The last vector becomes a chance for each character. One is drawn, such as {next}, and put on "
    "the end. Then all of it begins again.",
]
LEFT_OUT = " Of the {read} characters that the model reads, the last {drawn} are drawn."


def sentences(n: Numbers) -> list[str]:
    """What each stage does, with these numbers."""
    back, wide = n.heads
    values = {
        "text": "".join(n.letters).replace("␣", " "),
        "left_out": "",
        "back": f"{100 * sum(back[i][i - 1] for i in range(1, len(back))) / (len(back) - 1):.0f}",
        "most": f"{100 * max(wide[-1]):.0f}",
        "blocks": len(n.guesses),
        "first": n.guesses[0][0],
        "last": n.guesses[-1][0],
        "next": n.chances[0][0],
    }
    return [sentence.format(**values) for sentence in SENTENCES]
