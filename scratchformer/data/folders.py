"""Who owns a folder: each command looks here before it writes, so that no two mix their files.

A folder holds nothing, token files, a run, or somebody else's files. The names in it decide.
"""

from pathlib import Path

TOKEN_FILES = ("tokenizer.json", "val.bin", "train.bin")
RUN_FILES = (
    *("run.json", "tokenizer.json", "checkpoint.safetensors", "model.safetensors"),
    *("best/model.safetensors", "config.json", "best/config.json", "history.json", "loss.png"),
)
PARTS = ".tokens.part"  # where token files are written before they are put in their place
MARKS = {  # what a folder holds -> the names that say so; a tokenizer.json may be anybody's
    "token files": ("train.bin", "val.bin", PARTS),
    "a run": ("run.json", "checkpoint.safetensors", "model.safetensors", "best/model.safetensors"),
}


def names_in(folder: str | Path, names: tuple[str, ...]) -> list[str]:
    """Those of the names that are in a folder, a broken link among them."""
    paths = {name: Path(folder) / name for name in names}
    return [name for name, path in paths.items() if path.exists() or path.is_symlink()]


def refuse_another_owner(folder: str | Path, own: str) -> None:
    """Raise FileExistsError if a folder holds the other of "token files" and "a run"."""
    for kind, marks in MARKS.items():
        if kind != own and names_in(folder, marks):
            raise FileExistsError(f"{folder} holds {kind}, not {own}: choose another folder")
