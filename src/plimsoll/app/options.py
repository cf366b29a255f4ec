"""Options of a target: the instance behind it, the window, and how to access it."""

from pathlib import Path

from msgspec import Struct

LIVE = ("rds:", "prom:")
"""Beginnings of targets that are read up to now."""


class InstanceOptions(Struct, frozen=True, kw_only=True):
    """What the caller states about the instance; None keeps what the source says."""

    identifier: str | None = None
    """Which instance, if the target has several."""
    instance_file: Path | None = None
    """File with an answer of `aws rds describe-db-instances`."""
    db_class: str | None = None
    """For example `db.r5.2xlarge`."""
    engine: str | None = None
    """For example `postgres`."""
    storage: str | None = None
    """`gp2`, `gp3`, `io1`, `io2` or `standard`."""
    size_gib: float | None = None
    iops: float | None = None
    throughput_mibps: float | None = None
    launched: str | None = None
    """ISO date or moment."""


class ReadOptions(Struct, frozen=True, kw_only=True):
    """Window of a target and access to it; None and empty values select the defaults."""

    last: str | None = None
    """How far back, for example `24h` or `14d`; counted from `until`."""
    since: str | None = None
    """ISO date or moment."""
    until: str | None = None
    """ISO date or moment, exclusive."""
    profile: str | None = None
    """Profile of the AWS configuration."""
    region: str | None = None
    role_arn: str | None = None
    """Role to assume before anything is read, for example in another account."""
    max_api_calls: int = 1000
    match: tuple[str, ...] = ()
    """Label selectors for Prometheus, `LABEL=VALUE`."""
    headers: tuple[str, ...] = ()
    """HTTP headers for Prometheus, `NAME:VALUE`."""
    counts: tuple[Path, ...] = ()
    """Files with what an application counted in the same time."""


class PaceTarget(Struct, frozen=True, kw_only=True):
    """A target to pace by, and how it is read."""

    target: str
    """`rds:NAME`, `prom:URL`, or a file or folder of metrics."""
    instance: InstanceOptions = InstanceOptions()
    read_options: ReadOptions = ReadOptions()
    dsn: str | None = None
    """The PostgreSQL server that the batch loads; None if it is not asked."""

    @property
    def is_live(self) -> bool:
        """Return whether the target has newer metrics each minute."""
        return self.target.startswith(LIVE)
