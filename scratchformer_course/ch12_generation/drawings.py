"""Chapter 12's drawings: the loop that writes, two steps of it, and the circle it may end in."""

from scratchformer_course.kit.canvas import drawing


@drawing(470, 194)
def loop(d):
    """A circle of three steps. A row of tokens, t h e space k, of shape (B, T), goes into a GPT. It
    predicts a logit for each token of the vocabulary, (B, V). One token, i, is picked and
    appended to the row. Then the longer row goes into the GPT again.
    """
    d.text_from(20, 16, "ids (B, T)", "muted", size=13)
    d.row(20, 32, "the␣k", (34, 34), ("token", 0.2), 40, mono=True, size=16)
    d.box(220, 32, 34, 34, "i", "token", 0, dashed=True, mono=True, size=16)
    d.arrow(117, 68, 117, 110)
    d.box(57, 112, 120, 44, "GPT", "stream", 0.2, bold=True, size=16)
    d.arrow(179, 134, 214, 134)
    d.texts(228, 101, "ine…", down=22, mono=True, size=15)
    d.box(242, 93, 84, 16, "", "token", 0.35)
    for y, width in ((115, 44), (137, 22), (159, 10)):
        d.box(242, y, width, 16, "", "muted", 0.35)
    d.text(284, 184, "logits (B, V)", "muted", size=13)
    d.arrow(340, 134, 404, 134)
    d.box(408, 117, 34, 34, "i", "token", 0.2, mono=True, size=16)
    d.line([(425, 115), (425, 49)])
    d.arrow(425, 49, 258, 49)
    for x, y, name in ((162, 88, "1 predict"), (370, 118, "2 pick"), (345, 34, "3 append")):
        d.text(x, y, name, bold=True)


@drawing(470, 176)
def two_steps(d):
    """A tree of two steps. After t h e space k, the letter i has probability 0.5, and n has 0.4.
    After i, the likeliest letter, n, has 0.4: 0.5 times 0.4 is 0.20. After n, the letter o has 0.9:
    0.4 times 0.9 is 0.36. So the likelier first step leads to the less likely text.
    """
    size = (34, 34)
    d.row(6, 71, "the␣k", size, ("token", 0.2), 36, mono=True, size=16)
    for y, bend, first, then, second, ends, product, colour, fill in (
        (16, 74, "i 0.5", "0.4", "n", "kin", "0.5 × 0.4 = 0.20", "muted", 0.15),
        (126, 102, "n 0.4", "0.9", "o", "kno", "0.4 × 0.9 = 0.36", "token", 0.45),
    ):
        letter, p = first.split()
        d.arrow(188, bend, 230, y + 17)
        d.text(198, y + (27 if y < 88 else 7), p, size=14)
        d.box(234, y, *size, letter, "token", 0.2, mono=True, size=16)
        d.arrow(270, y + 17, 308, y + 17)
        d.text(288, y + 3, then, size=14)
        d.box(312, y, *size, second, colour, fill, mono=True, size=16)
        d.text_from(353, y + 8, f"…{ends}", mono=True, size=15)
        d.text_from(353, y + 28, product, size=13)


@drawing(470, 232)
def vicious_circle(d):
    """A circle of three steps. A text has some copies of one sentence: I was a ghost of the past.
    The model reads them. Its probability for the next copy has grown: four bars, each taller than
    the one before. So the likeliest tokens are those of one more copy, which is appended to the
    text, and the circle begins again with a text that holds more copies.
    """
    d.text(118, 12, "the text", bold=True)
    d.box(6, 26, 224, 96, "", "token", 0.12)
    for y, colour in ((42, "ink"), (64, "ink"), (86, "ink"), (108, "token")):
        d.text(118, y, "I was a ghost of the past.", colour, 13, mono=True)
    d.arrow(234, 74, 326, 74)
    d.text(280, 58, "1 read", bold=True)
    d.box(330, 46, 128, 56, "model", "stream", 0.2, bold=True, size=16)
    d.arrow(394, 106, 394, 132)
    for i, height in enumerate((4, 14, 32, 62)):
        d.box(346 + 26 * i, 202 - height, 18, height, "", "stream", 0.45)
    d.text(394, 216, "2 surer of a copy", bold=True)
    d.line([(334, 176), (118, 176)])
    d.arrow(118, 176, 118, 126)
    d.text(226, 192, "3 the likeliest", bold=True)
    d.text(226, 210, "write one more copy", bold=True)
