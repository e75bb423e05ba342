"""`python -m scratchformer_course NAME …`: the course from the shell, for teachers and tutors."""

import importlib
import io
import sys

COMMANDS: dict[str, tuple[str, str]] = {  # what may be called: its module, and what it does
    "grade": ("teaching.grade", "grade students' notebooks: points, verdicts and diagnoses"),
    "hint": ("teaching.hint", "the task and hints of an exercise, without its answer"),
    "blank": ("blank.empty_files", "write five empty files, to build a model alone"),
    "climb": ("blank.climber", "how far the five files reach: a ladder of checks"),
}


def main(arguments: list[str]) -> int:
    """Hand over to the module of a command; its status, or 2 if there is no such command."""
    name = arguments[0] if arguments else ""
    if name not in COMMANDS:
        lines = (f"  {known:<8} {about}" for known, (_, about) in COMMANDS.items())
        print("usage: python -m scratchformer_course COMMAND …", *lines, sep="\n")
        return 2 if name not in ("", "-h", "--help") else 0
    module, _ = COMMANDS[name]
    return importlib.import_module(f"scratchformer_course.{module}").main(arguments[1:])


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):  # a pipe on Windows would not take a √
        sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(main(sys.argv[1:]))
