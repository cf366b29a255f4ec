"""Run `plimsoll record`: record a target or this host, and save the snapshot."""

import sys
from pathlib import Path

import typer
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.read import read_target
from plimsoll.cli import watching
from plimsoll.cli.output import check_snapshot
from plimsoll.cli.record.host import HostFlags, record_host
from plimsoll.cli.waiting import TERMINAL
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot


def record_target(
    target: str,
    output: str,
    flags: InstanceOptions,
    read_options: ReadOptions,
    *,
    dsn: str | None,
    duration: str | None,
) -> None:
    """Read a target, watch its database if one is given, and save the snapshot."""
    check_snapshot(None if output is None else Path(output))
    snapshot = read_target(target, flags, read_options, TERMINAL, has_statements=True)
    observation = watching.observed_if_asked(dsn, duration)
    if observation is not None:
        snapshot = replace(snapshot, observation=observation)
    _save(snapshot, output)


def record_this_host(flags: HostFlags, output: str | None) -> None:
    """Record this host, and save the snapshot."""
    check_snapshot(None if output is None else Path(output))
    snapshot = record_host(flags)
    _save(snapshot, output or _name_of(snapshot))


def _save(snapshot: Snapshot, output: str) -> None:
    if output == "-":
        sys.stdout.buffer.write(encode_snapshot(snapshot) + b"\n")
        sys.stdout.flush()
        return
    from plimsoll.reports.files.snapshot import write_snapshot

    write_snapshot(Path(output), snapshot)
    typer.echo(f"recorded {snapshot.source}: {output}", err=True)


def _name_of(snapshot: Snapshot) -> str:
    from plimsoll.units import format_time

    window = snapshot.window_s
    assert window is not None  # A recording without a sample is an error before this.
    moment = format_time(window[0]).replace("-", "").replace(":", "")
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in snapshot.instance.identifier)
    return f"{name}-{moment}.json"
