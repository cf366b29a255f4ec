"""`plimsoll rehearse`: the share of a sample."""

import pytest

from plimsoll.cli.rehearse import share_of
from plimsoll.errors import UsageError


@pytest.mark.parametrize(
    ("text", "ratio"), [("1%", 0.01), ("0.5 %", 0.005), ("0.01", 0.01), ("100%", 1)]
)
def test_a_share_is_percent_or_a_ratio(text, ratio):
    assert ratio == share_of(text)


@pytest.mark.parametrize("text", ["", "0%", "101%", "2", "-1%", "half"])
def test_another_share_is_refused(text):
    with pytest.raises(UsageError, match="is not a share"):
        share_of(text)
