"""What the real model's file says of itself: recorded, and read from the file in the browser."""

from scratchformer.data.real_model import FILE, SHA256
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import table

BYTES = 98_362_432  # of the file: GitHub serves none of 100 MB
# words, the setting's name in the file, and what it is there
ROWS = [
    ("size", "general.size_label", "135M"),
    ("made by", "general.organization", "HuggingFaceTB"),
    ("licence", "general.license", "apache-2.0"),
    ("blocks", "llama.block_count", 30),
    ("width", "llama.embedding_length", 576),
    ("heads", "llama.attention.head_count", 9),
    ("heads of keys and values", "llama.attention.head_count_kv", 3),
    ("width inside the MLP", "llama.feed_forward_length", 1536),
    ("tokens in its table", "llama.vocab_size", 49152),
    ("context length", "llama.context_length", 8192),
]


def model_settings(name: str = FILE, n_bytes: int = BYTES, sha256: str = SHA256) -> LiveFigure:
    """The figure for the file of this name, length and SHA-256."""
    file = {"name": name, "bytes": n_bytes, "sha256": sha256}
    rows = [(words, f"{value:,}" if isinstance(value, int) else value) for words, _, value in ROWS]
    still = (
        "<p>This figure is live where JavaScript runs: there a press loads the model’s file, "
        f"{n_bytes / 1e6:.0f} MB, and the same numbers are read from it. Here they are as they "
        "were recorded.</p>"
    )
    return LiveFigure(
        "model_settings", {"file": file, "rows": ROWS}, still + table(["", "recorded"], rows)
    )
