"""Trained models that travel with the package, and their tokenizers.

Each folder holds model.safetensors in float16, tokenizer.json and record.json: how the model was
trained and what it scored. `GPT.pretrained("tiny-shakespeare")` is written by `lab/ship.py`, and
`BERT.pretrained("english-german")`, whose tokens are words, by `lab/bert_pretraining.py`.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def shipped_folder(name: str) -> Path:
    """The folder of the model of this name. Raises ValueError if there is none."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/model.safetensors"))
    if name not in names:
        raise ValueError(f"no shipped model {name!r}: there are {', '.join(names) or 'none'}")
    return FOLDER / name


def shipped_record(name: str) -> dict[str, Any]:
    """How it was trained, and what it scored. Raises ValueError for an unknown name."""
    return json.loads((shipped_folder(name) / "record.json").read_text(encoding="utf-8"))


def shipped_words(name: str) -> list[str]:
    """The text of each token, by id, of a model whose tokens are words; ValueError if they are not.

    The first four are padding, [CLS], [SEP] and [MASK].
    """
    tokenizer = json.loads((shipped_folder(name) / "tokenizer.json").read_text(encoding="utf-8"))
    if tokenizer["tokenizer"] != "words":
        raise ValueError(f"the tokens of {name!r} are no words: it has a {tokenizer['tokenizer']}")
    return tokenizer["words"]
