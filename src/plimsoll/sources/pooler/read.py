"""Read a pooler by its address or its configuration file."""

from functools import partial
from pathlib import Path

from plimsoll.model.database import PoolerReading
from plimsoll.model.pooler import PoolerConfig
from plimsoll.sources.pooler.config import read_pooler_config
from plimsoll.sources.pooler.console import WALL_CLOCK, Now, address_of, visited
from plimsoll.sources.pooler.pgbouncer import read_pgbouncer
from plimsoll.sources.pooler.pgpool import read_pgpool


def read_pooler(target: str, *, now: Now = WALL_CLOCK) -> PoolerReading:
    """
    Return what a pooler says now, or how its configuration file sets it up.

    Args:
        target: `pgbouncer://user@host:port`, `pgpool://user@host:port/database`, or a path.
        now: time of the reading, epoch seconds.

    Returns:
        For an address, a reading with all current settings, including defaults. For a file, only its settings, with
        an empty `version`. Passwords and anything that leads to one are left out.

    Raises:
        UsageError: the target is none of these.
        AccessDenied: the pooler refused the user.
        SourceError: the pooler did not answer, or the file cannot be read.
    """
    if "://" not in target:
        config = read_pooler_config(Path(target))
        return PoolerReading(
            kind=config.kind,
            place=config.place,
            version=config.version or "",
            time_s=now(),
            settings=config.settings,
            databases=config.databases,
            users=config.users,
        )
    address = address_of(target)
    with visited(address) as console:
        read = read_pgbouncer if address.kind == "pgbouncer" else read_pgpool
        return read(console, now())


def pooler_reader(target: str, *, now: Now = WALL_CLOCK) -> partial[PoolerReading]:
    """
    Return `read_pooler` for `observe`: the same target, again and again.

    Raises:
        UsageError: the address cannot be read.
    """
    if "://" in target:
        address_of(target)
    return partial(read_pooler, target, now=now)


def config_of(reading: PoolerReading) -> PoolerConfig:
    """Return the settings of a reading, in the form for the rules of `lint`."""
    return PoolerConfig(
        kind=reading.kind,
        place=reading.place,
        version=reading.version or None,
        settings=reading.settings,
        databases=reading.databases,
        users=reading.users,
    )
