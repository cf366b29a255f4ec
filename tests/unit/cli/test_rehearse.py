"""`plimsoll rehearse`: the share of a sample."""

import pytest

from plimsoll.cli.rehearse import share_of


@pytest.mark.parametrize(("text", "ratio"), [("1%", 0.01), ("0.5 %", 0.005), ("0.01", 0.01), ("100%", 1)])
def test_a_share_is_percent_or_a_ratio(text, ratio):
    assert ratio == share_of(text)
