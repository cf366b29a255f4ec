import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.diagnosis.order import median, quantile


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=40),
    share=st.floats(0, 1),
)
def test_a_quantile_is_numpys_to_the_last_bit(values, share):
    """A share that falls between two values is interpolated as numpy interpolates it."""
    numbers = np.array(values, dtype=float)

    assert float(np.quantile(numbers, share)) == quantile(numbers, share)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=40))
def test_a_median_is_numpys_to_the_last_bit(values):
    """Of an even number of values it is the mean of the two in the middle."""
    numbers = np.array(values, dtype=float)

    assert float(np.median(numbers)) == median(numbers)
