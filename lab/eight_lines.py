"""What chapter 25's eight lines say of the causal classes of transformers -> eight_lines.json.

Usage: python -m lab.eight_lines [--write] [--only KIND ...]

The classes are built as in `lab.in_public`, small and with the random weights that they begin
with, and `future_changes_nothing` reads one batch with each: those of the release that is
installed, or that `PYTHONPATH` names. Of a class that the lines stop at, `off` is how far a later
token moves an earlier logit.
"""

from collections.abc import Iterable
from typing import Any

import torch

from lab import in_public, runs
from lab.in_public_why import DESIGN
from scratchformer_course.ch25_silent_bugs.exercises import right_future_changes_nothing

ROWS, TOKENS = 2, 16
SETTINGS = {"rows": ROWS, "tokens": TOKENS, "largest": in_public.LARGEST}


def examine(kind: str, name: str) -> list[dict[str, Any]]:
    """A row if the eight lines stop at a class, or if there is no small model of it; or none."""
    try:
        inner = in_public.built(kind, name)
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(3, in_public.VOCABULARY, (ROWS, TOKENS), generator=generator)

        def model(ids: torch.Tensor) -> torch.Tensor:
            return inner(input_ids=ids, use_cache=False).logits

        with torch.no_grad():
            fine, full = right_future_changes_nothing(model, ids), model(ids)
            off = max(
                (model(ids[:, :t]) - full[:, :t]).abs().max().item() for t in range(1, TOKENS)
            )
            other = [torch.cat((ids[:, :t], ids[:, t:].flip(0)), dim=1) for t in range(1, TOKENS)]
            moved = max(
                (model(o) - full)[:, :t].abs().max().item() for t, o in enumerate(other, start=1)
            )
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        return [{"verdict": "not built", "why": why}]
    off, moved = (float(f"{x:.1g}") for x in (off, moved))
    return [] if fine else [{"verdict": "sees the future", "off": off, "moved": moved}]


def sweep(only: Iterable[str] = ()) -> dict[str, Any]:
    """Kinds that pass, and the rows of all others, in the release that is installed."""
    swept = in_public.sweep(only, examine)
    return {"fine": swept["healthy"], "rows": [told(row) for row in swept["rows"]]}


def main(arguments: list[str] | None = None) -> None:
    parser = runs.command_line(__doc__ or "", "eight_lines.json", quick=False)
    parser.add_argument("--only", nargs="*", default=[], metavar="KIND")
    options = parser.parse_args(arguments)
    kept = runs.Kept("eight_lines", SETTINGS, options.write)
    kept.once("releases", in_public.quiet_release(), job=lambda: sweep(options.only))


def told(row: dict[str, Any]) -> dict[str, Any]:
    """A row that says whether a class reads later tokens by design, and why none was built."""
    if "measured" in row:  # its process was ended
        return {key: row[key] for key in ("kind", "class")} | {
            "verdict": "not built",
            "why": row["measured"],
        }
    if row["verdict"] == "sees the future":
        return row | {"by_design": (row["kind"], "causality") in DESIGN}
    return row


if __name__ == "__main__":
    main()
