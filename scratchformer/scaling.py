"""What a GPT costs before it is built, and what its loss may be after training.

Counts are exact for the package's GPT: the tests hold them against the model and against
PyTorch's own counters. Other models are refused. The law is Hoffmann et al. 2022's; it holds
inside the range it was fitted on, and not where data repeat.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scratchformer.models import GPTConfig


def _check(config: GPTConfig) -> None:
    """Raise ValueError for another model's config: the formulas are GPT-2's."""
    if not isinstance(config, GPTConfig):
        raise ValueError(
            f"got a {type(config).__name__}, expected a GPTConfig: only GPT is counted"
        )


def count_parameters(config: GPTConfig) -> dict[str, int]:
    """Parameters of GPT(config) by part; the output head is the token embedding and is not new.

    A block holds about 12 d_model²: 4 in attention (q, k, v, out), 8 in the feed-forward network.
    Raises ValueError for another model's config, as all counts do.
    """
    _check(config)
    C, L, bias = config.d_model, config.n_layers, int(config.bias)
    return {
        "token embedding": config.vocab_size * C,
        "position embedding": config.context_length * C,
        "attention": L * (4 * C * C + bias * 4 * C),
        "feed-forward": L * (8 * C * C + bias * 5 * C),
        "norms": (2 * L + 1) * (1 + bias) * C,
    }


def non_embedding(config: GPTConfig) -> int:
    """The law's N: all parameters but those of the two tables, which only are looked up.

    Kaplan et al. 2020 count so. The head's product uses the token table too, but its size is the
    vocabulary's doing, not the model's.
    """
    parts = count_parameters(config)
    return sum(parts.values()) - parts["token embedding"] - parts["position embedding"]


def forward_flops(config: GPTConfig, T: int | None = None) -> dict[str, int]:
    """Floating-point operations of one forward pass over T tokens (default: the whole context).

    Only matrix products count, 2 operations for each multiply and add. Training costs 3 times
    this: the backward pass computes two products for each one of the forward pass. Scores are
    counted for all T² pairs, masked or not.
    """
    _check(config)
    C, L = config.d_model, config.n_layers
    T = T or config.context_length
    return {
        "attention projections": L * 2 * T * 4 * C * C,
        "attention scores and mixing": L * 2 * T * 2 * T * C,
        "feed-forward": L * 2 * T * 8 * C * C,
        "output head": 2 * T * C * config.vocab_size,
    }


def cache_bytes(config: GPTConfig, T: int | None = None, bytes_per_number: int = 4) -> int:
    """Memory of one sequence's key/value cache: a key and a value per layer and token."""
    _check(config)
    T = T or config.context_length
    return 2 * config.n_layers * T * config.d_model * bytes_per_number


@dataclass(frozen=True)
class ScalingLaw:
    """L(N, D) = E + A / N^alpha + B / D^beta, in nats per token.

    N counts parameters, D the tokens trained on, each once (Hoffmann et al. 2022, equation 2).
    """

    E: float  # what no model can remove: the entropy of the text
    A: float
    alpha: float
    B: float
    beta: float

    def __call__(self, N: ArrayLike | float, D: ArrayLike | float) -> np.ndarray | float:
        """The predicted loss; N and D broadcast."""
        N, D = np.asarray(N, dtype=float), np.asarray(D, dtype=float)
        return self.E + self.A / N**self.alpha + self.B / D**self.beta

    def best_allocation(self, flops: float) -> tuple[float, float]:
        """N and D of least loss for a budget of 6 N D operations (their equation 4)."""
        a = self.beta / (self.alpha + self.beta)
        G = (self.alpha * self.A / (self.beta * self.B)) ** (1 / (self.alpha + self.beta))
        return G * (flops / 6) ** a, (flops / 6) ** (1 - a) / G


def fit_law(N: ArrayLike, D: ArrayLike, loss: ArrayLike) -> ScalingLaw:
    """The law that fits the runs best: least Huber loss of log L, from several starts.

    Raises ValueError for fewer than six runs, or for one that is not positive and finite.
    """
    return _fit(
        _checked(N, D, loss), [(gap, s, s) for gap in (0.1, 0.7, 2.0) for s in (0.2, 0.5, 1.0)]
    )


def bootstrap(
    N: ArrayLike, D: ArrayLike, loss: ArrayLike, repeats: int, seed: int
) -> list[ScalingLaw]:
    """`repeats` laws, each fitted to as many runs drawn with replacement: their spread is ours.

    Each fit starts from the law of all runs, with less and more below its lowest loss.
    """
    runs = _checked(N, D, loss)
    law, draws = fit_law(*runs), np.random.default_rng(seed)
    starts = [(gap, law.alpha, law.beta) for gap in (0.1, 0.5, 2.0)]
    count = runs.shape[1]
    return [_fit(runs[:, draws.integers(count, size=count)], starts) for _ in range(repeats)]


def _checked(N: ArrayLike, D: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """The runs as three rows. Raises ValueError if no law can be fitted to them."""
    runs = np.array(np.broadcast_arrays(N, D, loss), dtype=float).reshape(3, -1)
    if runs.shape[1] < 6:
        raise ValueError(f"got {runs.shape[1]} runs, expected at least 6 for five unknowns")
    if not (np.isfinite(runs).all() and (runs > 0).all()):
        raise ValueError("every N, D and loss must be positive and finite")
    return runs


def _fit(runs: np.ndarray, starts: list[tuple[float, float, float]]) -> ScalingLaw:
    """The best fit from starts: how far log E lies below the lowest loss, alpha, beta."""
    from scipy.optimize import least_squares

    log_N, log_D, log_loss = np.log(runs)
    # Centred, the amplitudes do not trade off against the exponents, and one scale fits all.
    n, d = log_N.mean(), log_D.mean()

    def terms(p: np.ndarray) -> np.ndarray:
        e, a, alpha, b, beta = p
        return np.array([np.full_like(log_N, e), a - alpha * (log_N - n), b - beta * (log_D - d)])

    def residuals(p: np.ndarray) -> np.ndarray:
        return np.logaddexp.reduce(terms(p), axis=0) - log_loss

    def slopes(p: np.ndarray) -> np.ndarray:
        logs = terms(p)
        share_E, share_A, share_B = np.exp(logs - np.logaddexp.reduce(logs, axis=0))
        return np.stack(
            [share_E, share_A, -share_A * (log_N - n), share_B, -share_B * (log_D - d)], axis=1
        )

    low = log_loss.min()
    bounds = ([-10, -10, 0, -10, 0], [low, 10, 3, 10, 3])
    fits = [
        least_squares(
            residuals,
            (low - gap, low - 2, alpha, low - 2, beta),
            jac=slopes,
            bounds=bounds,
            loss="huber",
            f_scale=1e-2,
        )
        for gap, alpha, beta in starts
    ]
    e, a, alpha, b, beta = min(fits, key=lambda fit: fit.cost).x
    return ScalingLaw(
        float(np.exp(e)),
        float(np.exp(a + alpha * n)),
        float(alpha),
        float(np.exp(b + beta * d)),
        float(beta),
    )
