"""A learner's function (or class), called safely: copied arguments, value or error."""

from __future__ import annotations

import contextlib
import inspect
import linecache
import traceback
from typing import Any

from scratchformer_course.kit.checks.compare import (
    OtherKind,
    brief,
    error_in_words,
    fresh,
    is_tensor,
    kind,
    plain,
    same,
)
from scratchformer_course.kit.checks.verdict import Wrong, expect


class Call:
    """The learner's function and its last call. Calling it never raises the learner's errors."""

    def __init__(self, function: Any, name: str, parameters: list[str], is_class: bool = False):
        self.given = self.function = function
        self.name, self.parameters, self.is_class = name, parameters, is_class
        self.args: tuple = ()
        self.value: Any = None
        self.error: BaseException | None = None
        self.count = 0

    def __str__(self) -> str:  # the last call as the learner would write it
        if self.is_class and self.args:
            settings = ", ".join(f"{name}={value!r}" for name, value in self.args[0].items())
            return f"{self.name}({settings})({', '.join(brief(x, 50) for x in self.args[1:])})"
        pairs = zip(self.parameters, self.args, strict=False)
        shown = [name if brief(arg)[0] == "<" else brief(arg, 50) for name, arg in pairs]
        return f"{self.name}({', '.join(shown)})"

    def check_signature(self) -> None:
        """Raise `Wrong` if this is no function (or class) or takes other parameters."""
        name = self.name
        if self.function is ...:
            raise Wrong(f"write `{name}` first.", "not yet")
        got = f"got `{brief(self.function)}`, {kind(self.function)}"
        expect(callable(self.function), f"give the check `{name}` itself, without (): {got}.")
        is_asked = isinstance(self.function, type) or not self.is_class
        expect(is_asked, f"give the check the class `{name}` itself: {got}.")
        with contextlib.suppress(ValueError):  # some built-in functions tell no signature
            signature = inspect.signature(self.function)
            try:
                if self.is_class:
                    signature.bind(**dict.fromkeys(self.parameters))
                else:
                    signature.bind(*self.parameters)
            except TypeError:
                expected = ", ".join(self.parameters)
                raise Wrong(f"`{name}` takes `({expected})`, but yours is `{signature}`.") from None

    def __call__(self, *args: Any) -> Call:
        self.args, self.count, self.value, self.error = args, self.count + 1, None, None
        given = [fresh(arg) for arg in args]
        try:
            self.value = self.function(*given)
        except Wrong:
            raise
        except (Exception, SystemExit) as error:
            self.error = error
        parts = self.value if type(self.value) in (tuple, list) else (self.value,)
        unfilled = any(part is ... for part in parts) or "ellipsis" in error_in_words(self.error)
        if unfilled or isinstance(self.error, NotImplementedError):
            raise Wrong(f"replace the `...` in `{self.name}`.", "not yet")
        names = ["the settings", *["x"] * len(args)] if self.is_class else self.parameters
        for parameter, before, after in zip(names, args, given, strict=False):
            why = f"`{self.name}` changes its argument `{parameter}` in place: work on a copy."
            expect(self.error or same(before, after), why)
        return self

    def like(self, example: Any, hint: str = "") -> Any:
        """The value rebuilt from plain types, or `Wrong` (with the hint) if of another kind."""
        if self.error is not None:
            raise Wrong(f"`{self}` fails: {self.failure()}")
        if self.value is None:
            raise Wrong(f"`{self}` returned None: is the `return` missing?")
        try:
            return plain(self.value, example)
        except OtherKind as other:
            got, expected = other.args
            what = "that" if got is self.value else f"`{brief(got)}`"
            such = "" if is_tensor(expected) else f" such as `{brief(expected)}`"
            returned = f"`{self}` returned `{brief(self.value)}`: {what} is {kind(got)}"
            why = f"{returned}, but {kind(expected)}{such} is expected. {hint}"
            raise Wrong(why.rstrip()) from None

    def failure(self) -> str:
        """Type and words of the error, and the learner's own line: never a traceback."""
        if self.is_class:
            return failure(self.error, inspect.getfile(self.given.__init__))
        code = getattr(self.given, "__code__", None)
        return failure(self.error, getattr(code, "co_filename", ""))


def failure(error: BaseException | None, file: str) -> str:
    """Type and words of an error, and the last line of this file that it came through."""
    if isinstance(error, SystemExit):
        return "it ends the program (exit); `return` the answer instead."
    frames = traceback.walk_tb(getattr(error, "__traceback__", None))
    numbers = [number for frame, number in frames if frame.f_code.co_filename == file]
    line = linecache.getline(file, numbers[-1]).strip() if numbers else ""
    place = f" in line {numbers[-1]}: `{line}`" if line else ""
    return f"{error_in_words(error)}{place}."
