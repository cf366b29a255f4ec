"""Instances that the tests of the limits talk about."""

from datetime import UTC, datetime
from typing import Any

from plimsoll.catalog.load import catalog
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.instance import Instance, Storage


def instance(db_class: str | None = "db.r5.2xlarge", **fields: Any) -> Instance:
    """Return a PostgreSQL instance, without storage by default."""
    return Instance(db_class=db_class, **({"engine": "postgres"} | fields))


def on(kind: str, size_gib: float, *, engine: str = "postgres", **storage: Any) -> Instance:
    """Return an instance with storage only, for the limits of volumes."""
    return Instance(engine=engine, storage=Storage(kind=kind, size_gib=size_gib, **storage))


def epoch(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp())


def of(subject: Instance, family: Family) -> tuple[Ceiling, ...]:
    return tuple(c for c in ceilings_of(subject, catalog()) if c.family is family)


def values(ceilings: tuple[Ceiling, ...]) -> dict[Phase, float]:
    return {ceiling.phase: ceiling.value for ceiling in ceilings}


def legacy(subject: Instance, family: Family) -> dict[float, Phase | None]:
    """Return the number of each legacy limit, and which number it was."""
    return {c.value: c.former_phase for c in of(subject, family) if c.phase is Phase.LEGACY}
