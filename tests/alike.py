"""
Texts that differ in no more than the last digits of their numbers.

Processors differ in the last bit of `exp`, `log` and of a product of matrices, for each has its own
fastest way. So what is computed is compared to twelve digits, never to the byte.
"""

import math
import re

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DIGITS = 1e-12


def is_alike(one: str, other: str) -> bool:
    """Whether the texts are equal but for numbers that agree to twelve digits."""
    if one == other:
        return True
    if _NUMBER.split(one) != _NUMBER.split(other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(a == b or math.isclose(float(a), float(b), rel_tol=_DIGITS) for a, b in pairs)
