"""One model at many steps of its training, in one file that travels with the package.

It is for looking back. A run that is to go on needs its optimiser too: `training.checkpoints`.
"""

from dataclasses import asdict
from pathlib import Path

from scratchformer.models.gpt import GPT, GPTConfig
from scratchformer.models.pretrained import load_tensors
from scratchformer.models.tensor_files import read_tensors, write_tensors
from scratchformer.shipped import CHECKPOINTS, shipped_folder


def save_checkpoints(folder: str | Path, checkpoints: list[tuple[int, GPT]]) -> None:
    """Write the weights of all steps as float16, with the models' one config, to `folder`."""
    weights = {
        f"{step}/{name}": p.half()
        for step, model in checkpoints
        for name, p in model.named_parameters()
    }
    config = asdict(checkpoints[0][1].config)
    record = {"config": config, "steps": [step for step, _ in checkpoints]}
    write_tensors(Path(folder) / CHECKPOINTS, weights, record)


def load_checkpoints(name: str) -> list[tuple[int, GPT]]:
    """The shipped checkpoints "time-machine": (steps done, the GPT after them), from step 0 on.

    A character is a token; the tokenizer is `CharTokenizer.pretrained(name)`. Weights are float16
    on disk and float32 here. Raises ValueError for another name.
    """
    weights, record = read_tensors(shipped_folder(name, CHECKPOINTS) / CHECKPOINTS)
    checkpoints = []
    for step in record["steps"]:
        model = GPT(GPTConfig(**record["config"]))
        start = f"{step}/"
        own = {n.removeprefix(start): t for n, t in weights.items() if n.startswith(start)}
        load_tensors(dict(model.named_parameters()), own, name)
        checkpoints.append((step, model.eval()))
    return checkpoints
