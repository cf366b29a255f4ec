"""A name with its value, the smallest thing a report says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A name with its value."""

    name: str
    value: str
