"""The learning rate as a function of the step: it rises, then falls.

A formula, not an object: whoever knows the step knows the rate, so nothing has to be saved.
"""

import math

SCHEDULES = ("linear", "cosine", "constant", "inverse_sqrt")


def learning_rate(
    step: int,
    *,
    lr: float,
    steps: int,
    warmup: int = 0,
    schedule: str = "linear",
) -> float:
    """The rate of the update that follows `step` done updates (0 for the first), never 0 there.

    It rises in a straight line to its peak `lr`, then follows the `schedule`:
    "linear" and "cosine" fall from `lr` at step `warmup` to 0 at `steps`, just after the last
    update; "constant" stays; "inverse_sqrt" is Vaswani et al. 2017, equation 3, which peaks
    at update number `warmup` (their peak is 1 / sqrt(d_model · warmup)).
    Raises ValueError for an unknown schedule, a negative step, or a warm-up that does not fit
    into the run.
    """
    if step < 0:
        raise ValueError(f"step={step}, expected 0 or more")
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule={schedule!r}, expected one of {', '.join(SCHEDULES)}")
    if schedule == "inverse_sqrt":
        if warmup < 1:
            raise ValueError(f"warmup={warmup}, expected at least 1 for 'inverse_sqrt'")
        update = step + 1
        return lr * min(update / warmup, math.sqrt(warmup / update))
    if not 0 <= warmup < steps:
        raise ValueError(f"warmup={warmup}, expected 0 or more and fewer than steps={steps}")
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    if schedule == "constant":
        return lr
    progress = min((step - warmup) / (steps - warmup), 1.0)  # 0 at the peak, 1 at the end
    fall = progress if schedule == "linear" else (1 - math.cos(math.pi * progress)) / 2
    return lr * (1 - fall)
