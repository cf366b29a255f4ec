"""Two numbers side by side: one unit, and a difference that can be checked by eye."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.reports.render.pair import Pair, pair


@pytest.mark.parametrize(
    ("before", "after", "unit", "expected"),
    [
        (212.8e6, 315e6, "bytes/s", ("212.8 MB/s", "315.0 MB/s", "+102.2 MB/s", "+48 %")),
        (71.52e6, 8.619e6, "bytes/s", ("71.52 MB/s", "8.619 MB/s", "−62.90 MB/s", "−88 %")),
        (12_494, 12_160, "ops/s", ("12,494 IOPS", "12,160 IOPS", "−334 IOPS", "−2.7 %")),
        (0.00442, 0.00103, "s", ("4.42 ms", "1.03 ms", "−3.39 ms", "−77 %")),
        (0.0048, 0.00009996, "s", ("4.80 ms", "0.100 ms", "−4.70 ms", "−98 %")),
        (0.00006, 0.00005, "s", ("60.0 µs", "50.0 µs", "−10.0 µs", "−17 %")),
        (0.0009999, 0.002, "s", ("1.00 ms", "2.00 ms", "+1.00 ms", "+100 %")),
        (33.1 * 2**30, 0.5 * 2**30, "bytes", ("33.1 GiB", "0.500 GiB", "−32.6 GiB", "−98 %")),
        (0.42, 0.31, "ratio", ("42 %", "31 %", "−11 points", "")),
        (0.09, 0.06, "ratio", ("9.0 %", "6.0 %", "−3.0 points", "")),
        (61, 28, "count", ("61", "28", "−33", "−54 %")),
        (39.25, 22.05, "count", ("39.2", "22.1", "−17.1", "−44 %")),
        (152.2, 1.539, "requests", ("152", "1.54", "−151", "−99 %")),
        (0.0, 0.5, "requests", ("0.000", "0.500", "+0.500", "")),
        (5e6, 5e6, "bytes/s", ("5.000 MB/s", "5.000 MB/s", "same", "")),
        (5e6, 5.0001e6, "bytes/s", ("5.000 MB/s", "5.000 MB/s", "same", "")),
        (None, 5e6, "bytes/s", ("unknown", "5.000 MB/s", "", "")),
        (float("nan"), 5e6, "bytes/s", ("unknown", "5.000 MB/s", "", "")),
        (1e6, 25e6, "bytes/s", ("1.000 MB/s", "25.00 MB/s", "+24.00 MB/s", "+2,400 %")),
    ],
)
def test_two_numbers_read_as_one_line(before, after, unit, expected):
    """One unit for both, trailing zeros kept, the difference no more exact than the rougher side."""
    assert Pair(before=expected[0], after=expected[1], difference=expected[2], percent=expected[3]) == pair(
        before, after, unit
    )


rates = st.floats(1e3, 1e10)


@given(rates, rates)
def test_exchanging_the_sides_turns_the_sign(before, after):
    """What is printed of both sides does not depend on their order, and the difference has the other sign."""
    there, back = pair(before, after, "bytes/s"), pair(after, before, "bytes/s")
    turned = there.difference.translate(str.maketrans("+−", "−+"))

    assert (there.before, there.after) == (back.after, back.before)
    assert turned == back.difference


@given(rates, rates)
def test_a_difference_is_that_of_what_is_printed(before, after):
    """Where both sides have as many decimals, they differ by exactly what is reported."""
    shown = pair(before, after, "bytes/s")
    one, two = (float(text.split(" ")[0].replace(",", "")) for text in (shown.before, shown.after))
    decimals = [len(text.split(" ")[0].partition(".")[2]) for text in (shown.before, shown.after)]
    if decimals[0] == decimals[1] and shown.difference != "same":
        changed = float(shown.difference.split(" ")[0].replace(",", "").replace("−", "-"))

        assert two - one == pytest.approx(changed, abs=10.0 ** -(decimals[0] + 2))
