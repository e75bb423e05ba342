"""Who owns a folder: each command looks here before it writes, so that no two mix their files.

A folder holds nothing, token files, a run, or somebody else's files. The names in it decide.
"""

from pathlib import Path

TOKEN_FILES = ("tokenizer.json", "val.bin", "train.bin")
RUN_FILES = (
    *("run.json", "tokenizer.json", "checkpoint.safetensors", "model.safetensors"),
    *("best/model.safetensors", "config.json", "best/config.json", "history.json", "loss.png"),
)
PARTIAL_FOLDER = ".tokens.part"  # token files are written there before they are put in place
MARKS = {  # what a folder holds -> the names that say so; a tokenizer.json may be anybody's
    "token files": ("train.bin", "val.bin", PARTIAL_FOLDER),
    "a run": ("run.json", "checkpoint.safetensors", "model.safetensors", "best/model.safetensors"),
}


def names_in(folder: str | Path, names: tuple[str, ...]) -> list[str]:
    """Those of the names that are in a folder, a broken link among them."""
    paths = {name: Path(folder) / name for name in names}
    return [name for name, path in paths.items() if path.exists() or path.is_symlink()]


def refuse_another_owner(folder: str | Path, expected: str) -> None:
    """Raise FileExistsError if a folder holds the other of "token files" and "a run"."""
    for owner, marks in MARKS.items():
        if owner != expected and names_in(folder, marks):
            raise FileExistsError(f"{folder} holds {owner}, not {expected}: choose another folder")
