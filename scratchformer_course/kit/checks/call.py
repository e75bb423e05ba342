"""A learner's function (or class), called safely: copied arguments, value or error."""

import contextlib
import inspect
import linecache
import traceback
from typing import Any

from scratchformer_course.kit.checks import compare
from scratchformer_course.kit.checks.compare import brief, kind
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
        shown = [brief(arg, 50) for arg in self.args]
        if self.is_class and self.args:
            settings = ", ".join(f"{name}={value!r}" for name, value in self.args[0].items())
            return f"{self.name}({settings})({', '.join(shown[1:])})"
        pairs = zip(self.parameters, shown, strict=False)
        return f"{self.name}({', '.join(name if arg[0] == '<' else arg for name, arg in pairs)})"

    def check_signature(self) -> None:
        """Raise `Wrong` if this is no function (or class) or takes other parameters."""
        name, names = self.name, self.parameters
        if self.function is ...:
            raise Wrong(f"write `{name}` first.", "not yet")
        got = f"got `{brief(self.function)}`, {kind(self.function)}"
        expect(callable(self.function), f"give the check `{name}` itself, without (): {got}.")
        is_asked = isinstance(self.function, type) or not self.is_class
        expect(is_asked, f"give the check the class `{name}` itself: {got}.")
        with contextlib.suppress(ValueError):  # some built-in functions tell no signature
            signature = inspect.signature(self.function)
            args, settings = ((), dict.fromkeys(names)) if self.is_class else (names, {})
            try:
                signature.bind(*args, **settings)
            except TypeError:
                wanted = f"`({', '.join(names)})`"
                raise Wrong(f"`{name}` takes {wanted}, but yours is `{signature}`.") from None

    def __call__(self, *args: Any) -> "Call":
        self.args, self.count, self.value, self.error = args, self.count + 1, None, None
        given = compare.fresh(args)
        try:
            self.value = self.function(*given)
        except Wrong:
            raise
        except (Exception, SystemExit) as error:
            self.error = error
        parts = self.value if type(self.value) in (tuple, list) else (self.value,)
        is_unfilled = any(part is ... for part in parts) or "ellipsis" in str(self.error)
        if is_unfilled or isinstance(self.error, NotImplementedError):
            raise Wrong(f"replace the `...` in `{self.name}`.", "not yet")
        names = ["the settings", *["x"] * len(args)] if self.is_class else self.parameters
        for name, before, after in zip(names, args, given, strict=False):
            why = f"`{self.name}` changes its argument `{name}` in place: work on a copy."
            expect(self.error or compare.same(before, after), why)
        return self

    def like(self, example: Any, hint: str = "") -> Any:
        """The value rebuilt from plain types, or `Wrong` (with the hint) if of another kind."""
        if self.error is not None:
            raise Wrong(f"`{self}` fails: {self.failure()}")
        if self.value is None:
            raise Wrong(f"`{self}` returned None: is the `return` missing?")
        try:
            return compare.plain(self.value, example)
        except compare.OtherKind as other:
            got, expected = other.args
        what = "that" if got is self.value else f"`{brief(got)}`"
        such = "" if compare.is_tensor(expected) else f" such as `{brief(expected)}`"
        why = f"`{self}` returned `{brief(self.value)}`: {what} is {kind(got)}"
        raise Wrong(f"{why}, but {kind(expected)}{such} is expected. {hint}".rstrip())

    def failure(self) -> str:
        """Type and words of the error, and the learner's own line: never a traceback."""
        code = getattr(getattr(self.given, "forward", self.given), "__code__", None)
        return failure(self.error, getattr(code, "co_filename", ""))


def failure(error: BaseException | None, file: str) -> str:
    """Type and words of an error, and the last line of this file that it came through."""
    if isinstance(error, SystemExit):
        return "it ends the program (exit); `return` the answer instead."
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    numbers = [number for frame, number in frames if frame.f_code.co_filename == file]
    line = linecache.getline(file, numbers[-1]).strip() if numbers else ""
    place = f" in line {numbers[-1]}: `{line}`" if line else ""
    return f"{compare.error_in_words(error)}{place}."
