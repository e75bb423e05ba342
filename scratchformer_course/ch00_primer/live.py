"""Three forecasts to set and score; two shapes to set, with the copies of broadcasting."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

DEGREES = [17, 20, 23, 26]  # of the forecast and of the measurements: every forecast comes true


def own_forecast(loss: Callable[[Tensor], float], rival: float) -> LiveFigure:
    """Three forecasts, which the reader sets, scored as the chapter's program scores a column.

    `loss` is the program's; the still figure holds what it says of four forecasts, and `rival` is
    what it says of the average, said every day.
    """
    measured = DEGREES[:3]
    tried = measured, [18, 20, 22], [19, 20, 21], [20, 20, 20]
    rows = [
        (", ".join(map(str, said)), f"{loss(torch.tensor(said).float()[:, None]):.1f}")
        for said in tried
    ]
    still = (
        "<p>This figure is live where JavaScript runs: there you set the three forecasts. Here is "
        f"the loss of {len(tried)} of them; measured were {', '.join(map(str, measured))}.</p>"
    )
    settings = {"measured": measured, "rival": rival}
    return LiveFigure("own_forecast", settings, still + table(("forecast", "loss"), rows))


def two_shapes(difference: Sequence[Sequence[float]]) -> LiveFigure:
    """`forecast - measured`, for shapes that the reader sets; both begin as rows of three numbers.

    `difference` is what the chapter's program computed of a column and a row. It is the still
    figure. Raises ValueError if it is not the difference of the first three numbers.
    """
    days = DEGREES[:3]
    expected = [[said - was for was in days] for said in days]
    rows = [[*map(float, row)] for row in difference]
    if rows != expected:
        raise ValueError(f"the differences are {rows}, expected {expected}")
    squares = [number**2 for row in rows for number in row]
    still = (
        "<p>This figure is live where JavaScript runs: there you set both shapes. Here is what the "
        f"program computes, (3, 1) minus (3,). The mean of the {len(squares)} squares is "
        f"{sum(squares) / len(squares):.1f}.</p>"
        + table(
            ("forecast", *(f"− {was}" for was in days)),
            ((said, *map(_whole, row)) for said, row in zip(days, rows, strict=True)),
        )
    )
    return LiveFigure("two_shapes", {"numbers": DEGREES, "size": 3}, still)


def _whole(number: float) -> str:
    return f"{number:.0f}".replace("-", "−")
