"""What the real model's file says of itself: recorded, and read from the file in the browser."""

from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import table

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


def model_settings() -> LiveFigure:
    """The figure: a press loads the file, or it is kept already, and its settings are read."""
    rows = [(words, f"{value:,}" if isinstance(value, int) else value) for words, _, value in ROWS]
    still = (
        "<p>This figure is live where JavaScript runs: there a press loads the model’s file, "
        "98 MB, and the same settings are read from it. These were recorded.</p>"
    )
    return LiveFigure("model_settings", {"rows": ROWS}, still + table(["", "recorded"], rows))
