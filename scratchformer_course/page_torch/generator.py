"""Random numbers: the ones that real PyTorch draws, so that a seed gives the same tensors.

Its source is the Mersenne Twister (mt19937), of which Python has one, too. Normal numbers are made
of two uniform ones (Box and Muller, 1958): from 16 on in blocks, with the cosines in the first half
of a block and the sines in the second; below one by one, in double precision.
"""

import math
import operator
import random
from typing import Any

from scratchformer_course.page_torch.creation import placed
from scratchformer_course.page_torch.dtypes import (
    DEFAULTS,
    FLOAT,
    INTEGER,
    converted,
    dtype,
    float64,
    int64,
    rounded,
    uint8,
)
from scratchformer_course.page_torch.inplace import assign
from scratchformer_course.page_torch.layout import Shape, sizes_of
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.storage import CPU
from scratchformer_course.page_torch.tensor import Tensor, new_tensor

N_WORDS = 624  # of the state of mt19937
FIRST_SEED = 67280421310721
BLOCK = 16


class Generator:
    """A source of random numbers with a state of its own."""

    def __init__(self, device: Any = "cpu"):
        if str(device) != "cpu":
            lack(f"the device `{device}`")
        self.device = CPU
        self.twister = random.Random()
        self.manual_seed(FIRST_SEED)

    def manual_seed(self, seed: int) -> "Generator":
        """Begin anew from a seed."""
        words = [seed & 0xFFFFFFFF]
        for i in range(1, N_WORDS):
            words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + i) & 0xFFFFFFFF)
        self.twister.setstate((3, (*words, N_WORDS), None))
        self.seed_used = seed
        self.next_normal: float | None = None
        return self

    def initial_seed(self) -> int:
        """The seed that it began with."""
        return self.seed_used

    def seed(self) -> int:
        """Begin anew from a seed that nobody knows."""
        self.manual_seed(random.SystemRandom().getrandbits(32))
        return self.seed_used

    def get_state(self) -> Tensor:
        """The state, to be put back; its numbers are not those of real PyTorch."""
        state = new_tensor([0], (1,), uint8)
        state.state = (self.twister.getstate(), self.next_normal, self.seed_used)
        return state

    def set_state(self, state: Tensor) -> "Generator":
        """Put a state back."""
        if not hasattr(state, "state"):
            lack("a state that `get_rng_state` did not give")
        twister, self.next_normal, self.seed_used = state.state
        self.twister.setstate(twister)
        return self

    def word(self) -> int:
        """32 random bits."""
        return self.twister.getrandbits(32)

    def long_word(self) -> int:
        """64 random bits."""
        high = self.word()
        return high << 32 | self.word()

    def double(self) -> float:
        """A number from 0 to below 1, of 53 bits."""
        return self.uniforms(1, float64)[0]

    def uniforms(self, n: int, kind: dtype) -> list[float]:
        """n numbers from 0 to below 1, of as many bits as the type has."""
        bits = self.twister.getrandbits
        if kind is float64:  # the upper bits are drawn first
            return [((bits(32) & 2**21 - 1) << 32 | bits(32)) / 2**53 for _ in range(n)]
        return [(bits(32) & 2**24 - 1) / 2**24 for _ in range(n)]

    def normal(self) -> float:
        """A normal number; they are made in pairs, and one waits."""
        if self.next_normal is not None:
            number, self.next_normal = self.next_normal, None
            return number
        angle, u = 2 * math.pi * self.double(), self.double()
        radius = math.sqrt(-2 * math.log1p(-u))
        self.next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def normals(self, n: int, kind: dtype) -> list[float]:
        """n normal numbers of a type."""
        if n < BLOCK:
            return rounded([self.normal() for _ in range(n)], kind)
        numbers = self.uniforms(n, kind)
        for start in range(0, n - BLOCK + 1, BLOCK):
            _make_normal(numbers, start)
        if n % BLOCK:  # the last block overlaps with the one before it
            numbers[n - BLOCK :] = self.uniforms(BLOCK, kind)
            _make_normal(numbers, n - BLOCK)
        return rounded(numbers, kind)

    def below(self, end: int) -> int:
        """A whole number from 0 to below `end`."""
        return (self.long_word() if end >= 2**28 else self.word()) % end


def _make_normal(numbers: list[float], start: int) -> None:
    """Turn a block of uniform numbers into normal ones."""
    middle, end = start + BLOCK // 2, start + BLOCK
    radii = [math.sqrt(-2 * math.log(1 - u)) for u in numbers[start:middle]]
    angles = [2 * math.pi * u for u in numbers[middle:end]]
    numbers[start:middle] = map(operator.mul, radii, map(math.cos, angles))
    numbers[middle:end] = map(operator.mul, radii, map(math.sin, angles))


default_generator = Generator()
NAMED = {"device", "dtype", "generator", "requires_grad"}  # what `randint` takes by name


def manual_seed(seed: int) -> Generator:
    """Begin anew from a seed."""
    return default_generator.manual_seed(int(seed))


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put back the state of the default generator."""
    default_generator.set_state(new_state)


def _new(sizes: tuple, draw: str, named: dict[str, Any]) -> Tensor:
    """A new tensor of random numbers."""
    given_names = set(named)
    shape: Shape = sizes_of((named.pop("size"),) if "size" in named else sizes)
    kind = named.pop("dtype", None) or DEFAULTS[FLOAT]
    source = named.pop("generator", None) or default_generator
    n = math.prod(shape)
    if not (sizes or "size" in given_names) or min(shape, default=0) < 0:
        lack(f"`torch.{draw}` of such a shape")
    if kind.itemsize == 2 and n > BLOCK and n % BLOCK:
        lack(f"`torch.{draw}` of `{kind}`")
    if kind.kind != FLOAT:
        lack(f"`torch.{draw}` of `{kind}`")
    if draw == "randn":
        numbers = source.normals(n, kind)
    else:
        numbers = rounded(source.uniforms(n, kind), kind)
    place, needs_slopes = named.pop("device", None), named.pop("requires_grad", False)
    if named:
        lack(f"`torch.{draw}({', '.join(named)}=…)`")
    return placed(new_tensor(numbers, shape, kind), place, needs_slopes)


def randn(*size: Any, **named: Any) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
    return _new(size, "randn", named)


def rand(*size: Any, **named: Any) -> Tensor:
    """Uniform numbers from 0 to below 1."""
    return _new(size, "rand", named)


def randn_like(x: Tensor, **named: Any) -> Tensor:
    """Normal numbers in the shape and type of another tensor."""
    return randn(*x._shape, **{"dtype": x.dtype, **named})


def rand_like(x: Tensor, **named: Any) -> Tensor:
    """Uniform numbers in the shape and type of another tensor."""
    return rand(*x._shape, **{"dtype": x.dtype, **named})


def randint(*given: Any, **named: Any) -> Tensor:
    """Whole numbers: `randint(high, size)` from 0, or `randint(low, high, size)`."""
    words = [named.pop(name) for name in ("low", "high", "size") if name in named]
    parts = [*given, *words]
    low, high, size = parts if len(parts) == 3 else (0, *parts)
    if not isinstance(size, (tuple, list)) or not isinstance(high, int) or set(named) - NAMED:
        lack("this use of `torch.randint`")
    source = named.pop("generator", None) or default_generator
    kind = named.pop("dtype", None) or int64
    if low >= high:
        text = f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        raise torch_error(RuntimeError, text)
    shape = sizes_of((size,))
    numbers = [source.below(high - low) + low for _ in range(math.prod(shape))]
    out = new_tensor(converted(numbers, int64, kind), shape, kind)
    return placed(out, named.pop("device", None), named.pop("requires_grad", False))


def randperm(
    n: int, *, generator: Generator | None = None, dtype: dtype = int64, device: Any = None
) -> Tensor:
    """The numbers from 0 to below n in a random order."""
    if n < 0:
        lack("`torch.randperm` of a negative number")
    source, numbers = generator or default_generator, list(range(n))
    for i in range(n - 1):
        j = i + source.word() % (n - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return placed(new_tensor(converted(numbers, int64, dtype), (n,), dtype), device, False)


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None
) -> Tensor:
    """Normal numbers of this mean and deviation."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor) or size is None:
        lack("`torch.normal` with tensors")
    return randn(*sizes_of([tuple(size)]), generator=generator) * std + mean


def bernoulli(x: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that x gives, else 0."""
    source = generator or default_generator
    if not all(0 <= p <= 1 for p in x._numbers()):
        lack("`torch.bernoulli` of what is no probability")
    draws = zip(source.uniforms(x.numel(), x.dtype), x._numbers(), strict=True)
    numbers = [float(draw < p) for draw, p in draws]
    return new_tensor(numbers, x._shape, x.dtype)


def multinomial(
    x: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Places drawn with the probabilities (or weights) in each row."""
    if x.ndim not in (1, 2):
        raise torch_error(RuntimeError, "prob_dist must be 1 or 2 dim")
    if x.dtype.kind != FLOAT:
        text = "multinomial only supports floating-point dtypes for input, got:"
        raise torch_error(RuntimeError, f"{text} {x.dtype.word}")
    size = x._shape[-1]
    if num_samples <= 0:
        raise torch_error(RuntimeError, "cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > size:
        text = "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        raise torch_error(RuntimeError, text)
    own = x._numbers()
    if not x.is_contiguous():
        lack("`torch.multinomial` of numbers that do not lie in order")
    if not all(0 <= p < math.inf for p in own):
        text = "probability tensor contains either `inf`, `nan` or element < 0"
        raise torch_error(RuntimeError, text)
    rows = [own[i : i + size] for i in range(0, len(own), size)]
    if any(sum(row) <= 0 for row in rows):
        text = "invalid multinomial distribution (sum of probabilities <= 0)"
        raise torch_error(RuntimeError, text)
    source = generator or default_generator
    if not replacement or num_samples == 1:  # the first of exponential waiting times
        waits = exponential_(new_tensor(list(own), x._shape, x.dtype), generator=source)
        speeds = x.detach() / waits
        if num_samples == 1:
            return speeds.argmax(-1, keepdim=True)
        return speeds.topk(num_samples)[1]
    found = [_drawn(row, source) for row in rows for _ in range(num_samples)]
    return new_tensor(found, (*x._shape[:-1], num_samples), int64)


def _drawn(weights: list[float], source: Generator) -> int:
    """A place, by where a uniform number falls among the sums of the weights."""
    u, total, end = source.double(), sum(weights), 0.0
    for place, weight in enumerate(weights):
        end += weight
        if end / total >= u:
            return place
    return len(weights) - 1


# ---- written into a tensor


def _fill(x: Tensor, numbers: list) -> Tensor:
    if not x.is_contiguous():
        lack("random numbers for memory that does not lie in order")
    kind = x.dtype
    if kind.kind == INTEGER:
        numbers = [int(number) for number in numbers]
    return assign(x, new_tensor(rounded(numbers, kind), x._shape, kind))


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Write normal numbers."""
    numbers = (generator or default_generator).normals(x.numel(), x.dtype)
    return _fill(x, _scaled(numbers, std, mean, x.dtype))


def uniform_(x: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
    """Write uniform numbers from a to below b."""
    numbers = (generator or default_generator).uniforms(x.numel(), x.dtype)
    return _fill(x, _scaled(numbers, b - a, a, x.dtype))


def _scaled(numbers: list[float], scale: float, start: float, kind: dtype) -> list[float]:
    """scale · x + start, rounded after each step."""
    if kind.kind != FLOAT:
        lack(f"random numbers of `{kind}`")
    scale, start = rounded([scale, start], kind)
    numbers = rounded([scale * x for x in numbers], kind) if scale != 1 else numbers
    return [x + start for x in numbers] if start else numbers


def bernoulli_(x: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Write 1 with probability p, else 0."""
    source = generator or default_generator
    return _fill(x, [float(draw < p) for draw in source.uniforms(x.numel(), float64)])


def exponential_(x: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Write exponential waiting times."""
    source = generator or default_generator
    draws = source.uniforms(x.numel(), float64)
    return _fill(x, [-math.log1p(-draw) / lambd for draw in draws])


def random_(x: Tensor, *bounds: int, generator: Generator | None = None) -> Tensor:
    """Write whole numbers from `bounds[0]` (or 0) to below the last of the bounds."""
    if not bounds:
        lack("`Tensor.random_` without bounds")
    low, high = bounds if len(bounds) == 2 else (0, *bounds)
    source = generator or default_generator
    return _fill(x, [source.below(high - low) + low for _ in range(x.numel())])
