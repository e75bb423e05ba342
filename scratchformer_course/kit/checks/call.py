"""A learner's function (or class), called safely: copied arguments, value or error."""

import contextlib
import inspect
import linecache
import re
import traceback
from typing import Any

from scratchformer_course.kit.checks import compare
from scratchformer_course.kit.checks.compare import brief, kind
from scratchformer_course.kit.checks.verdict import Wrong, expect

LINE = 100  # characters of a call that is shown


class Call:
    """The learner's function and its last call. Calling it never raises the learner's errors."""

    def __init__(self, function: Any, name: str, parameters: list[str], is_class: bool = False):
        self.given = self.function = function
        self.name, self.parameters, self.is_class = name, parameters, is_class
        self.args: tuple = ()
        self.value: Any = None
        self.error: BaseException | None = None
        self.count = 0

    def __str__(self) -> str:  # as the learner would write it; of what is too long, the shape
        return self.in_full() or self._written([in_brief(*pair) for pair in self._arguments()])

    def in_full(self) -> str:
        """The last call with all numbers of its arguments; nothing if a line cannot hold them."""
        texts = [in_full(value) for _, value in self._arguments()]
        text = self._written(texts)
        return text if all(texts) and len(text) <= LINE else ""

    def _arguments(self) -> list[tuple[str, Any]]:
        names = [""] * len(self.args) if self.is_class else self.parameters
        return list(zip(names, self.args, strict=False))[self.is_class :]

    def _written(self, texts: list[str]) -> str:
        settings = ""
        if self.is_class and self.args:
            settings = f"({', '.join(f'{name}={value!r}' for name, value in self.args[0].items())})"
        return f"{self.name}{settings}({', '.join(texts)})"

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


def in_full(value: Any) -> str:
    """A value as a learner would write it; nothing if a line cannot hold all of it."""
    text = compare.written(value) if compare.is_tensor(value) else brief(value, LINE)
    return "" if len(text) > LINE or re.search(r"^<|…|\.\.\.", text) else text


def in_brief(name: str, value: Any) -> str:
    """A value as a learner would write it; of a long tensor the shape, of an object the name."""
    text = in_full(value)
    if compare.is_tensor(value) and not 0 < len(text) <= LINE // 2:
        is_usual = not name or str(value.dtype) in compare.USUAL
        return f"{name}: {tuple(value.shape)}" if name and is_usual else kind(value)
    text = text or brief(value, LINE // 2)
    return name if text[0] == "<" else text


def failure(error: BaseException | None, file: str) -> str:
    """Type and words of an error, and the last line of this file that it came through."""
    if isinstance(error, SystemExit):
        return "it ends the program (exit); `return` the answer instead."
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    numbers = [number for frame, number in frames if frame.f_code.co_filename == file]
    line = linecache.getline(file, numbers[-1]).strip() if numbers else ""
    place = f" in line {numbers[-1]}: `{line}`" if line else ""
    return f"{compare.error_in_words(error)}{place}."
