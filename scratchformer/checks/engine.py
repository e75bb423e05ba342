"""The engine behind the exercises: call a learner's function safely and say what is wrong with it.

It knows no exercise. It is no sandbox either: a function that deletes files or eats all memory
does so. A check is written with four words, `exercise`, `call(…)`, `gives` and `expect`:

    @exercise("1.2", "word, pair")
    def merge_pair(call):
        call(("l", "o", "w"), ("l", "o")).gives(("lo", "w"), (("low",), "joins the whole word"))

where each pair after the right answer is a wrong one with its diagnosis.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import html
import inspect
import linecache
import math
import operator
import random
import re
import reprlib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

LIMIT = 5.0  # seconds for a whole check
COLOURS = {"passed": "#2e8b57", "not yet": "#8a7428", "try again": "#c8553d"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check answers; true when the exercise is passed."""

    exercise: str  # such as "1.2"
    state: str  # "passed", "not yet" (the stub is unfilled) or "try again"
    message: str  # one or two lines

    @property
    def passed(self) -> bool:
        """Whether the answer was right."""
        return self.state == "passed"

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"Exercise {self.exercise}, {self.state}: {self.message}"

    def _repr_html_(self) -> str:
        # No background and no text colour of its own: readable on light and on dark pages.
        code = r"<code style='background:none;color:inherit'>\1</code>"
        text = re.sub(r"`([^`]+)`", code, html.escape(self.message)).replace("\n", "<br>")
        style = f"border-left:4px solid {COLOURS[self.state]};padding:0.2em 0.8em;color:inherit"
        return f"<div style='{style}'><b>Exercise {self.exercise}, {self.state}.</b> {text}</div>"


class Wrong(Exception):
    """Ends a check; carries the diagnosis, and "not yet" when the stub is unfilled."""

    def __init__(self, diagnosis: str, state: str = "try again"):
        super().__init__(diagnosis)
        self.state = state


def expect(condition: Any, diagnosis: str) -> None:
    """Raise `Wrong(diagnosis)` unless the condition holds."""
    if not condition:
        raise Wrong(diagnosis)


def exercise(number: str, parameters: str) -> Callable:
    """Turn a body `body(call, *given)` into a check `check(function, *given, limit=5.0)`.

    `parameters` names what the learner's function takes. The body may return the words of praise.
    The check always returns a `Verdict` and leaves the global random states as they were.
    """

    def decorate(body: Callable) -> Callable:
        name = body.__name__

        def check(function: Any, *given: Any, limit: float = LIMIT) -> Verdict:
            call = Call(function, name, parameters)

            def work() -> Verdict:
                try:
                    call.inspect()
                    praise = body(call, *given)
                    calls = f" in all {call.count} calls" if call.count > 1 else ""
                    default = f"`{name}` gives the right answer{calls}."
                    return Verdict(number, "passed", praise or default)
                except Wrong as wrong:
                    return Verdict(number, wrong.state, str(wrong))
                except Exception as error:  # an object that misbehaves when it is looked at
                    why = f"what `{name}` returned cannot be examined ({_words(error)})."
                    return Verdict(number, "try again", why)

            with _own_randomness():
                verdict, stopped = _within(limit, work)
            if verdict is not None:
                return verdict
            why = f"`{call}` did not come back within {limit:g} seconds: "
            why += "is there a loop that never ends?"
            if not stopped:
                why += "\nIt cannot be stopped and still runs: restart the kernel or the program."
            return Verdict(number, "try again", why)

        check.__name__ = check.__qualname__ = name
        check.__doc__, check.__module__ = body.__doc__, body.__module__
        return check

    return decorate


class Call:
    """The learner's function and its last call: copied arguments, value or error."""

    def __init__(self, function: Any, name: str, parameters: str):
        self.function, self.name, self.parameters = function, name, parameters.split(", ")
        self.args, self.value, self.error, self.count = (), None, None, 0

    def __str__(self) -> str:  # the last call as the learner would write it
        pairs = zip(self.parameters, self.args, strict=False)
        shown = [name if brief(arg)[0] == "<" else brief(arg, 50) for name, arg in pairs]
        return f"{self.name}({', '.join(shown)})"

    def inspect(self) -> None:
        """Raise `Wrong` if this is no function or takes other parameters."""
        name = self.name
        if self.function is ...:
            raise Wrong(f"write `{name}` first.", "not yet")
        came = f"`{brief(self.function)}`, {_kind(self.function)}"
        expect(callable(self.function), f"give the check `{name}` itself, without (): got {came}.")
        with contextlib.suppress(ValueError):  # some built-in functions tell no signature
            signature = inspect.signature(self.function)
            try:
                signature.bind(*self.parameters)
            except TypeError:
                wanted = ", ".join(self.parameters)
                raise Wrong(f"`{name}` takes `({wanted})`, but yours is `{signature}`.") from None

    def __call__(self, *args: Any) -> Call:
        self.args, self.count, self.value, self.error = args, self.count + 1, None, None
        given = [_fresh(arg) for arg in args]
        try:
            self.value = self.function(*given)
        except _OutOfTime:
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers too
            self.error = error
        parts = self.value if type(self.value) in (tuple, list) else (self.value,)
        unfilled = any(part is ... for part in parts) or "ellipsis" in _words(self.error)
        if unfilled or isinstance(self.error, NotImplementedError):
            raise Wrong(f"replace the `...` in `{self.name}`.", "not yet")
        for parameter, before, after in zip(self.parameters, args, given, strict=True):
            why = f"`{self.name}` changes its argument `{parameter}` in place: work on a copy."
            expect(self.error or _same(before, after), why)
        return self

    def like(self, example: Any, hint: str = "") -> Any:
        """The value rebuilt from plain types, or `Wrong` (with the hint) if of another kind."""
        if self.error is not None:
            raise Wrong(f"`{self}` fails: {self.failure()}")
        if self.value is None:
            raise Wrong(f"`{self}` returned None: is the `return` missing?")
        try:
            return _plain(self.value, example)
        except _OtherKind as other:
            came, wanted = other.args
            what = "that" if came is self.value else f"`{brief(came)}`"
            why = f"`{self}` returned `{brief(self.value)}`: {what} is {_kind(came)}, "
            such = "" if _is_tensor(wanted) else f" such as `{brief(wanted)}`"
            why += f"but {_kind(wanted)}{such} is expected. {hint}"
            raise Wrong(why.rstrip()) from None

    def gives(self, expected: Any, *mistakes: tuple[Any, str]) -> None:
        """Raise `Wrong` unless the value equals `expected`, with the diagnosis of the mistake.

        A mistake is (wrong value, diagnosis) or (exception class, diagnosis). The kind and shape
        needed, and whether integers are, is read off `expected`.
        """
        for wrong, why in mistakes:
            if isinstance(wrong, type) and isinstance(self.error, wrong):
                raise Wrong(f"{why}.\n{self.failure()}")
        got = self.like(expected)
        if not _same(got, expected):
            why = next((f"{why}.\n" for wrong, why in mistakes if _same(got, wrong)), "")
            returned = f"returned `{brief(got)}`, expected `{brief(expected)}`"
            raise Wrong(f"{why}`{self}` {_difference(got, expected) or returned}.")

    def failure(self) -> str:
        """Type and words of the error, and the learner's own line: never a traceback."""
        if isinstance(self.error, SystemExit):
            return "it ends the program (exit); `return` the answer instead."
        file = getattr(getattr(self.function, "__code__", None), "co_filename", "")
        lines = [
            number
            for frame, number in traceback.walk_tb(self.error.__traceback__)
            if frame.f_code.co_filename == file
        ]
        source = linecache.getline(file, lines[-1]).strip() if lines else ""
        place = f" in line {lines[-1]}: `{source}`" if source else ""
        return f"{_words(self.error)}{place}."


def brief(value: Any, width: int = 80) -> str:
    """One line of at most `width` characters for anything, without memory addresses."""
    if _is_tensor(value) and value.numel() > 12:
        return _kind(value)
    short = reprlib.Repr()
    short.maxtuple = short.maxlist = short.maxdict = 12
    short.maxstring = short.maxlong = short.maxother = width
    try:
        text = re.sub(r"\s*\n\s*| at 0x[0-9a-fA-F]+", " ", short.repr(value)).strip()
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= width else text[: width - 1] + "…"


def _words(error: BaseException | None) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text[:200]}".rstrip(": .")


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")  # where torch is not imported there are no tensors
    return torch is not None and isinstance(value, torch.Tensor)


def _kind(value: Any) -> str:
    name = type(value).__name__
    if _is_tensor(value):
        name = f"{str(value.dtype)[6:]} tensor of shape {tuple(value.shape)}"
    return f"{'an' if re.match('[aeiou]|nd', name) else 'a'} {name}"


class _OtherKind(Exception):
    """What came, and an example of what is expected."""


def _plain(value: Any, example: Any) -> Any:
    """The value in exact built-in types, so that no method a learner wrote is trusted later."""
    if _is_tensor(example):
        whole = not example.is_floating_point()
        if _is_tensor(value) and not (value.is_complex() or (whole and value.is_floating_point())):
            return value.detach().cpu()
    elif isinstance(example, int | float):  # tensors and numpy scalars without dimensions do
        if getattr(value, "ndim", 0) == 0 and not isinstance(value, str | bytes):
            convert = operator.index if isinstance(example, int) else float
            with contextlib.suppress(TypeError):
                return convert(value.detach() if _is_tensor(value) else value)
    elif isinstance(example, str) and isinstance(value, str):
        return str.__str__(value)
    elif isinstance(example, dict) and isinstance(value, dict):
        key, item = next(iter(example.items()))
        return {_plain(k, key): _plain(v, item) for k, v in dict.items(value)}
    for kind in (list, tuple):
        if isinstance(example, kind) and isinstance(value, kind):
            return kind(_plain(item, example[0]) for item in kind.__iter__(value))
    raise _OtherKind(value, example)


def _fresh(value: Any) -> Any:
    """A deep copy of plain data and tensors; anything else as it is."""
    if type(value) in (list, tuple):
        return type(value)(_fresh(item) for item in value)
    if type(value) is dict:
        return {key: _fresh(item) for key, item in value.items()}
    return value.clone() if _is_tensor(value) else value


def _same(a: Any, b: Any) -> bool:
    """Equality of plain data; numbers to 1e-4, NaN equals NaN."""
    if a is b:
        return True
    if _is_tensor(a) and _is_tensor(b):
        a, b = a.detach().double(), b.detach().double()
        return a.shape == b.shape and a.allclose(b, rtol=1e-4, atol=1e-4, equal_nan=True)
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return bool(a == b)


def _difference(got: Any, expected: Any) -> str:
    """What is wrong with a tensor or a number, in words; "" for other data."""
    if isinstance(got, float) and not math.isfinite(got):
        return f"returned {got}, not a finite number"
    if not _is_tensor(got):
        return ""
    if got.shape != expected.shape:
        came, wanted = tuple(got.shape), tuple(expected.shape)
        return f"returned a tensor of shape {came}, but {wanted} is expected"
    bad = int((~got.isfinite()).sum())
    if bad:
        return f"returned NaN or infinity in {bad} of {got.numel()} places"
    got, expected = got.double(), expected.double()
    place = tuple(((got - expected).abs() > 1e-4).nonzero()[0].tolist())
    return f"returned {got[place]:.4g} at {list(place)}, expected {expected[place]:.4g}"


@contextlib.contextmanager
def _own_randomness() -> Iterator[None]:
    """Fixed global seeds inside (the verdict depends on no one's seed), the old states after."""
    doors = [(random.getstate, random.seed, random.setstate)]
    if numpy := sys.modules.get("numpy"):
        doors.append((numpy.random.get_state, numpy.random.seed, numpy.random.set_state))
    if torch := sys.modules.get("torch"):
        seed = torch.default_generator.manual_seed  # torch.manual_seed would reset GPUs too
        doors.append((torch.get_rng_state, seed, torch.set_rng_state))
    states = [get() for get, _, _ in doors]
    for _, seed, _ in doors:
        seed(0)
    try:
        yield
    finally:
        for (_, _, restore), state in zip(doors, states, strict=True):
            restore(state)


class _OutOfTime(SystemExit):
    """Put into a thread to end it; `except Exception` lets it pass, threads die of it silently."""


def _within(limit: float, work: Callable[[], Verdict]) -> tuple[Verdict | None, bool]:
    """The verdict, or None after `limit` seconds; and whether the thread has ended."""
    verdict: list[Verdict] = []
    run = contextvars.copy_context().run  # so that prints reach the learner's own cell

    deadline = time.monotonic() + limit

    def stop_late(frame, event, arg):
        if time.monotonic() > deadline:
            raise _OutOfTime
        return stop_late

    def target() -> None:
        if sys.version_info < (3, 11):  # there some loops never let another thread run
            sys.settrace(stop_late)
        with contextlib.suppress(_OutOfTime):
            verdict.append(run(work))

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    try:
        thread.join(limit)
    finally:  # also when the reader interrupts the wait
        for _ in range(40):  # again and again: a bare `except:` may swallow the first ones
            if not thread.is_alive():
                break
            ident = ctypes.c_ulong(thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_OutOfTime))
            thread.join(0.025)
    return (verdict[0] if verdict else None), not thread.is_alive()
