"""Choose the instance of an export, and collect the facts about it."""

from collections.abc import Iterable

import msgspec

from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Gap
from plimsoll.sources.values.shown import shown

UNNAMED = "unnamed"
# A judgement: a hint lists this many names, and counts the rest.
_MOST_LISTED = 12


def choose(measured: Iterable[str | None], described: list[Instance], wanted: str | None) -> str:
    """
    Return the identifier to report on; `unnamed` if there is none.

    Args:
        measured: instances that samples name; None for samples that name none.
        described: instances of `describe-db-instances`.
        wanted: identifier that the user named, compared without case, because RDS stores identifiers in
            lower case (RDS API Reference, DBInstanceIdentifier).

    Raises:
        UsageError: several instances and none selected, or the selected one is missing.
    """
    measured_names = [*dict.fromkeys(measured)]
    named = [n for n in measured_names if n is not None]
    described_names = [*dict.fromkeys(i.identifier for i in described)]
    if wanted is not None:
        for name in named:
            if name.lower() == wanted.lower():
                return name
        if named and None not in measured_names:
            raise UsageError(f"no metric of instance '{shown(wanted)}' in the export", _listing(named))
        for name in described_names:
            if name.lower() == wanted.lower():
                return name
        if described_names:
            raise UsageError(f"instance '{shown(wanted)}' is not described in the export", _listing(described_names))
        return wanted
    if len(named) > 1:
        raise UsageError(f"the export has {len(named):,} instances", _listing(named))
    if named:
        return named[0]
    if len(described_names) > 1:
        raise UsageError(f"the export describes {len(described_names):,} instances", _listing(described_names))
    return described_names[0] if described_names else UNNAMED


def describe(identifier: str, described: list[Instance], hints: list[Instance]) -> tuple[Instance, list[Gap]]:
    """Return all facts about the instance; `describe-db-instances` takes precedence over hints."""
    gaps: list[Gap] = []
    fitting = [i for i in described if i.identifier.lower() == identifier.lower()]
    # Metrics without a name and one description belong together; differing names do not.
    if not fitting and described and identifier != UNNAMED:
        gaps.append(
            Gap(
                metric="instance",
                reason=f"'{shown(identifier)}' is not among the described instances",
                remedy="Add its describe-db-instances answer, or give --class and --storage.",
            )
        )
    instance = fitting[-1] if fitting else Instance(identifier=shown(identifier, 63))
    for hint in hints:
        if hint.identifier.lower() in (identifier.lower(), UNNAMED):
            instance = _filled(instance, hint)
    return instance, gaps


def _filled(instance: Instance, hint: Instance) -> Instance:
    """Return the instance with its unknown fields taken from the hint."""
    new = {
        name: getattr(hint, name)
        for name in instance.__struct_fields__
        if name != "storage" and getattr(instance, name) is None
    }
    storage = instance.storage
    if storage.volume_count is None:
        storage = msgspec.structs.replace(storage, volume_count=hint.storage.volume_count)
    return msgspec.structs.replace(instance, storage=storage, **new)


def _listing(names: list[str]) -> str:
    listed = ", ".join(shown(n, 63) for n in names[:_MOST_LISTED])
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"Choose one with --identifier: {listed}{more}."
