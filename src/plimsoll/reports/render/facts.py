"""A name with its value, the smallest element of a report."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A name with its value."""

    name: str
    value: str
