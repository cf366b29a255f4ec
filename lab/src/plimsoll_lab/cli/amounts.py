"""Parse amounts of memory of a command line."""

import re

from plimsoll.errors import UsageError
from plimsoll.units import GIB, KIB, MIB

_BYTES = {"": 1, "b": 1, "kib": KIB, "mib": MIB, "gib": GIB, "tib": 1024 * GIB}


def bytes_of(text: str, option: str) -> int:
    """
    Return bytes of `4GiB`, `512 MiB` or a bare number of bytes.

    Raises:
        UsageError: not an amount, or not above zero.
    """
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) *([A-Za-z]*)", text.strip())
    unit = _BYTES.get(found[2].lower()) if found else None
    amount = int(float(found[1]) * unit) if found and unit else 0
    if amount < 1:
        raise UsageError(f"{option} '{text}' is not an amount of bytes", "Write it as 4GiB or 512MiB.")
    return amount
