"""The law with one more exponent: found again from its own losses, its best size is the lowest."""

import numpy as np
import pytest

from scratchformer.scaling import ScalingLaw
from scratchformer_course.ch16_scaling.joint import JointLaw, fit_joint

LAW = JointLaw(E=0.3, N0=2000.0, alpha=0.4, D0=2e5, beta=0.5, gamma=2.8)
N, D = map(np.ravel, np.meshgrid([2e4, 5e4, 1e5, 2e5], [5e5, 1e6, 2e6]))


@pytest.mark.parametrize("floor", [0.3, None])
def test_a_law_is_found_again_from_its_own_losses(floor):
    law = fit_joint(N, D, LAW(N, D), floor)
    assert law(N, D) == pytest.approx(LAW(N, D), rel=1e-3)
    if floor is not None:
        assert law(5e5, 1e7) == pytest.approx(LAW(5e5, 1e7), rel=0.01)


def test_a_given_start_finds_what_several_starts_find():
    losses = LAW(N, D) * np.exp(np.random.default_rng(0).normal(0, 0.01, len(N)))
    several = fit_joint(N, D, losses, 0.3)
    assert fit_joint(N, D, losses, 0.3, several)(N, D) == pytest.approx(several(N, D), rel=1e-3)


def test_without_the_exponent_it_is_hoffmanns_law():
    added = ScalingLaw(E=0.3, A=20.0**0.5, alpha=0.5, B=3000.0**0.6, beta=0.6)
    joint = JointLaw(E=0.3, N0=20.0, alpha=0.5, D0=3000.0, beta=0.6, gamma=1.0)
    assert joint(N, D) == pytest.approx(added(N, D))
    assert joint.best_size(1e12) == pytest.approx(added.best_allocation(1e12)[0])


def test_an_exponent_that_is_given_is_kept_and_the_rest_is_fitted():
    added = JointLaw(E=0.3, N0=7000.0, alpha=1.2, D0=3e5, beta=1.3, gamma=1.0)
    for floor in (0.3, None):
        law = fit_joint(N, D, added(N, D), floor, gamma=1.0)
        assert law.gamma == 1
        assert law(N, D) == pytest.approx(added(N, D), rel=1e-3)


def test_no_size_is_better_than_the_best():
    for budget in (1e11, 1e13):
        sizes = LAW.best_size(budget) * np.geomspace(1 / 3, 3, 201)
        losses = LAW(sizes, budget / 6 / sizes)
        assert abs(np.argmin(losses) - 100) <= 1
