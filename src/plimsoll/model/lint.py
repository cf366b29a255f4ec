"""Findings about a pooler's settings."""

from typing import Annotated

from msgspec import Struct

from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PoolerConfig
from plimsoll.model.written import Named


class PoolerFindings(Struct, frozen=True, kw_only=True):
    """A configuration and its findings."""

    config: Annotated[PoolerConfig, Named("pooler")]
    """The configuration that was checked."""
    causes: Annotated[tuple[Cause, ...], Named("findings")]
    """The gravest first; the exit status is 1 where one is above a note."""
    notes: tuple[str, ...] = ()
    """What could not be checked, and what would allow it."""
