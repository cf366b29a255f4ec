"""What is wrong with a pooler's settings."""

from msgspec import Struct

from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PoolerConfig


class PoolerFindings(Struct, frozen=True, kw_only=True):
    """A configuration with what was found in it."""

    config: PoolerConfig
    causes: tuple[Cause, ...]
    """The gravest first."""
    notes: tuple[str, ...] = ()
    """What could not be looked at; sentences without a stop."""
