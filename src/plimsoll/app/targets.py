"""Tell kinds of targets apart: `rds:NAME`, `prom:URL`, standard input, or a file or folder."""

from plimsoll.app.options import LIVE, InstanceOptions

RDS, PROMETHEUS = LIVE
STANDARD_INPUT = "-"
EVERY = "*"
"""The identifier that selects every instance of a folder or file."""
_WILDCARDS = frozenset("*?[")


def is_live(target: str) -> bool:
    """Return whether the target is read for a window up to now."""
    return target.startswith(LIVE)


def is_fleet(target: str) -> bool:
    """Return whether the target names several instances: `rds:*`, `rds:orders-*`."""
    return target.startswith(RDS) and not _WILDCARDS.isdisjoint(target)


def is_pattern(name: str | None) -> bool:
    """Return whether a name can match several instances: `*`, `orders-*`."""
    return name is not None and not _WILDCARDS.isdisjoint(name)


def is_several(target: str, flags: InstanceOptions) -> bool:
    """Return whether a target and its options select several instances."""
    if target.startswith(PROMETHEUS):
        return is_pattern(flags.identifier)
    return is_fleet(target) or (not target.startswith(RDS) and flags.identifier == EVERY)
