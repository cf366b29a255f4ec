"""What a caller may say of a target: the instance behind it, and how and for when it is read."""

from pathlib import Path

from msgspec import Struct


class InstanceOptions(Struct, frozen=True, kw_only=True):
    """What the caller says about the instance; None leaves what the source says."""

    identifier: str | None = None
    """Which instance, when the target holds several."""
    instance_file: Path | None = None
    """A `describe-db-instances` answer."""
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
    """How a target is reached and for which window; None and empty leave it to the defaults."""

    last: str | None = None
    """How far back, for example `24h` or `14d`; counted from `until`."""
    since: str | None = None
    """ISO date or moment."""
    until: str | None = None
    """ISO date or moment, exclusive."""
    profile: str | None = None
    """Of the AWS configuration."""
    region: str | None = None
    max_api_calls: int = 1000
    match: tuple[str, ...] = ()
    """`LABEL=VALUE`, of Prometheus."""
    headers: tuple[str, ...] = ()
    """`NAME:VALUE`, of Prometheus."""
    beside: tuple[Path, ...] = ()
    """Files of what an application counted in the same time."""
