"""The loss of the shipped model in few bits, on all of the validation split -> quantised.json.

Usage: python -m lab.quantised [--quick | --write]

Each of its matrices is rounded to 2 to 8 bits, with a scale for the tensor, for each row, or for
each group of 64 or 32 weights in a row, and the loss is read on the whole validation split of Tiny
Shakespeare. Nothing is tuned, so that one split is enough. Finished rows are kept: a second call
does only what is missing.
"""

import torch

from lab import runs
from scratchformer.data import load_corpus, train_val_split
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate
from scratchformer_course.ch20_inference.quantised import quantised
from scratchformer_course.measurements import FOLDER

FILE, NAME = FOLDER / "quantised.json", "tiny-shakespeare"
BITS, GROUPS = (8, 4, 3, 6, 5, 2), ("tensor", "row", 64, 32)


def main(arguments: list[str] | None = None) -> dict:
    options = runs.command_line(__doc__, FILE.name).parse_args(arguments)
    torch.set_num_threads(1)
    model, tokenizer = GPT.pretrained(NAME).eval(), CharTokenizer.pretrained(NAME)
    ids = torch.tensor(tokenizer.encode(load_corpus("tinyshakespeare").text))
    scored = train_val_split(ids, 0.9)[1][: 2_001 if options.quick else None]

    def nats(net) -> float:
        return round(evaluate(net, scored, model.context_length), 4)

    found = runs.read(FILE) if options.write and FILE.exists() else {}
    found |= {"command": "python -m lab.quantised --write", "characters": len(scored)}
    if "float32" not in found:
        n = sum(p.numel() for p in model.parameters())
        found |= {"float32": nats(model), "float32_bytes": 4 * n}
    table = found.setdefault("table", [])
    for bits in BITS:
        for group in GROUPS:
            if any(row["bits"] == bits and row["group"] == group for row in table):
                continue
            net, size = quantised(model, bits, group)
            table.append({"bits": bits, "group": group, "nats": nats(net), "bytes": size})
            print(table[-1], flush=True)
            if options.write:
                runs.store(FILE, found | runs.stamp())
    return found


if __name__ == "__main__":
    main()
