"""What the rest of a window tells of the workload's own noise."""

import numpy as np
import pytest

from plimsoll.diagnosis.recognition.signs import _short_term_spread


@pytest.mark.parametrize(("jitter", "is_noise"), [(0.001, False), (0.05, True)])
def test_another_ceiling_shows_nothing_of_the_workload(jitter, is_noise):
    """A burst ceiling before a baseline is as flat: it is no workload to compare the baseline with."""
    rate = 347.5e6 * np.exp(jitter * np.random.default_rng(2).standard_normal(200))

    assert is_noise == bool(np.isfinite(_short_term_spread(rate, np.ones(200, dtype=bool))))
