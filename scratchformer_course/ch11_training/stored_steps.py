"""The time machine's model at many steps of its training, in one file that travels with the course.

It is for looking back. A run that is to go on needs its optimiser too: `training.checkpoints`.
`lab/time_machine.py` writes the file, and checkpoints.json beside it: how the run was trained, and
what it scored.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scratchformer.models.gpt import GPT, GPTConfig
from scratchformer.models.pretrained import load_tensors
from scratchformer.models.tensor_files import read_tensors, write_tensors

STORED = Path(__file__).with_name("checkpoints.safetensors")


def save_checkpoints(checkpoints: list[tuple[int, GPT]], path: str | Path = STORED) -> None:
    """Write the weights of all steps as float16, with the models' one config, to `path`."""
    weights = {
        f"{step}/{name}": p.half()
        for step, model in checkpoints
        for name, p in model.named_parameters()
    }
    config = asdict(checkpoints[0][1].config)
    record = {"config": config, "steps": [step for step, _ in checkpoints]}
    write_tensors(path, weights, record)


def load_checkpoints(path: str | Path = STORED) -> list[tuple[int, GPT]]:
    """The time machine's checkpoints: (steps done, the GPT after them), from step 0 on.

    A character is a token; the tokenizer is `CharTokenizer.pretrained("tiny-shakespeare")`. Weights
    are float16 on disk and float32 in the models.
    """
    weights, record = read_tensors(path)
    checkpoints = []
    for step in record["steps"]:
        model = GPT(GPTConfig(**record["config"]))
        start = f"{step}/"
        checkpoint = {n.removeprefix(start): t for n, t in weights.items() if n.startswith(start)}
        load_tensors(dict(model.named_parameters()), checkpoint, path)
        checkpoints.append((step, model.eval()))
    return checkpoints


def training_record() -> dict[str, Any]:
    """How the checkpoints' run was trained, and what they scored."""
    return json.loads(STORED.with_suffix(".json").read_text(encoding="utf-8"))
