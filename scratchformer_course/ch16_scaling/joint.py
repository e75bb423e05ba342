"""A law for size and text in which the two prices are not simply added."""

from dataclasses import astuple, dataclass

import numpy as np


@dataclass(frozen=True)
class JointLaw:
    """L(N, D) = E + ((N0 / N)^alpha + (D0 / D)^beta)^gamma, in nats per character."""

    E: float
    N0: float
    alpha: float
    D0: float
    beta: float
    gamma: float

    def __call__(self, N, D):
        """The loss of N parameters that read D characters; N and D broadcast."""
        return self.E + ((self.N0 / N) ** self.alpha + (self.D0 / D) ** self.beta) ** self.gamma

    def best_size(self, operations: float) -> float:
        """The N of least loss for 6 N D operations."""
        text = (operations / 6 / self.D0) ** self.beta  # what N = 1 could read
        sum_of_exponents = self.alpha + self.beta
        return (self.alpha / self.beta * self.N0**self.alpha * text) ** (1 / sum_of_exponents)


def best_so_far(N: np.ndarray, D: np.ndarray, loss: np.ndarray) -> tuple[list[float], list[float]]:
    """6 N D and the mean loss of the kinds of run that are better than all cheaper ones."""
    operations: list[float] = []
    reached: list[float] = []
    for _, n, d in sorted((n * d, n, d) for n, d in set(zip(N, D, strict=True))):
        mean = loss[(n == N) & (d == D)].mean()
        if not reached or mean < reached[-1]:
            operations.append(6 * n * d)
            reached.append(mean)
    return operations, reached


def fit_joint(
    N: np.ndarray,
    D: np.ndarray,
    loss: np.ndarray,
    floor: float | None = None,
    start: JointLaw | None = None,
    gamma: float | None = None,
) -> JointLaw:
    """The law that misses the logarithms of the losses least; E and gamma are fitted if not given.

    Unless a law is given to `start` from, several starts are tried.
    """
    from scipy.optimize import least_squares

    lowest = float(np.min(loss))

    def law_of(p: np.ndarray) -> JointLaw:
        N0, alpha, D0, beta, *rest = p
        found_gamma = np.exp(rest.pop(0)) if gamma is None else gamma
        E = rest.pop() if floor is None else floor
        return JointLaw(E, np.exp(N0), alpha, np.exp(D0), beta, found_gamma)

    starts = [(10.0, s, 13.0, s, g, 0.3 * lowest) for s in (0.3, 0.6) for g in (0.0, 1.0)]
    if start is not None:
        E, N0, alpha, D0, beta, old_gamma = astuple(start)
        starts = [(np.log(N0), alpha, np.log(D0), beta, np.log(old_gamma), max(E, 1e-3))]
    bounds = np.array([(0, 30), (0, 4), (0, 30), (0, 4), (-3, 3), (0, 0.95 * lowest)]).T
    asked = [0, 1, 2, 3] + [4] * (gamma is None) + [5] * (floor is None)
    fits = [
        least_squares(
            lambda p: np.log(law_of(p)(N, D) / loss),
            [guess[i] for i in asked],
            bounds=bounds[:, asked],
        )
        for guess in starts
    ]
    return JointLaw(*map(float, astuple(law_of(min(fits, key=lambda fit: fit.cost).x))))
