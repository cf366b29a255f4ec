"""Findings about a pooler's settings."""

from msgspec import Struct

from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PoolerConfig


class PoolerFindings(Struct, frozen=True, kw_only=True):
    """A configuration and its findings."""

    config: PoolerConfig
    causes: tuple[Cause, ...]
    """The most severe first."""
    notes: tuple[str, ...] = ()
    """What could not be checked; sentences without a full stop."""
