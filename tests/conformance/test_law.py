"""The law gives the results that the gate is compared with."""

import pytest

from conformance import law_arm
from conformance.flows import Case, cases, check


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_law_serves_what_the_limits_say(case: Case):
    """A saturating demand gets the rate of the limit that binds, by arithmetic, to rounding."""
    check(case, law_arm.serve(case), tolerance=1e-9)
