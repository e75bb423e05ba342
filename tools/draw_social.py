"""Draw the picture that a shared link shows: book/_assets/social.png, 1200 × 630.

Usage: make pictures

The title, and what the shipped model expects after a prompt. The PNG notes the digest of this
script and of the model's weights, so that a test can tell whether the picture is of both.
"""

import hashlib
from pathlib import Path

import torch
import yaml

from scratchformer.models import GPT
from scratchformer.shipped import shipped_folder
from scratchformer.tokenizers import CharTokenizer

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "book" / "_assets" / "social.png"
MODEL, PROMPT, BARS = "tiny-shakespeare", "ROMEO: What l", 5
WIDTH, HEIGHT = 1200, 630
DIGEST = "Comment"  # the field of the PNG


def digest() -> str:
    """Of all that the picture is made from."""
    weights = (shipped_folder(MODEL) / "model.safetensors").read_bytes()
    return hashlib.sha256(Path(__file__).read_bytes() + weights + title().encode()).hexdigest()


def title() -> str:
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["title"]


def likeliest() -> list[tuple[str, float]]:
    """The likeliest tokens after the prompt, and their probabilities."""
    model, tokenizer = GPT.pretrained(MODEL).eval(), CharTokenizer.pretrained(MODEL)
    with torch.no_grad():
        p = model(torch.tensor([tokenizer.encode(PROMPT)]))[0, -1].softmax(dim=-1)
    values, best = (t.tolist() for t in p.topk(BARS))
    return [(tokenizer.decode([i]), value) for i, value in zip(best, values, strict=True)]


def draw(path: Path = FILE) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    ink, soft, blue, orange = "#22303c", "#5a6b7a", "#1f6199", "#e08a1e"
    figure = plt.figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor="#f6f9fc")
    page = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    page.axis("off")
    for row in range(4):  # the logo: a causal mask, whose last cell is the one that looks
        for column in range(4):
            seen = column <= row
            colour = orange if row == column == 3 else blue if seen else "#d4dde6"
            place = (80 + 34 * column, 78 + 34 * row)
            page.add_patch(plt.Rectangle(place, 28, 28, color=colour, lw=0))
    page.text(240, 115, title(), size=40, weight="bold", color=ink, va="center")
    page.text(240, 180, "from raw text to a GPT of your own, every number computed", size=21,
              color=soft, va="center")  # fmt: skip
    page.text(80, 292, PROMPT, size=27, family="monospace", color=ink, va="center")
    page.text(80, 335, "what the course's own model expects next", size=17, color=soft, va="center")
    for i, (token, p) in enumerate(likeliest()):
        y, shown = 390 + 45 * i, token.replace(" ", "␣").replace("\n", "⏎")
        page.text(95, y, shown, size=22, family="monospace", color=ink, va="center", ha="center")
        page.add_patch(plt.Rectangle((130, y - 15), 800 * p, 30, color=blue, lw=0))
        page.text(145 + 800 * p, y, f"{100 * p:.1f} %", size=19, color=ink, va="center")
    figure.savefig(path, metadata={DIGEST: digest()}, facecolor=figure.get_facecolor())
    plt.close(figure)


if __name__ == "__main__":
    draw()
    print(f"{FILE.relative_to(ROOT)}: {FILE.stat().st_size / 1e3:.0f} kB")
