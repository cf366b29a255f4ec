"""
Make a snapshot of a recorded host.

`device.py` chooses the device, `reader.py` reads counters, `loop.py` samples them, and `rates.py`
converts them to rates.
"""

from dataclasses import dataclass

from plimsoll.errors import SourceError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.sources.host.device import DeviceChoice
from plimsoll.sources.host.loop import Recording
from plimsoll.sources.host.rates import HostReading
from plimsoll.sources.postgres.pg_stat import ServerFacts, gaps_of
from plimsoll.units import GIB

_DATABASE_METRICS = (
    Metric.CONNECTION_COUNT,
    Metric.ACTIVE_SESSION_COUNT,
    Metric.WAITING_SESSION_COUNT,
    Metric.TRANSACTIONS_PER_S,
    Metric.ROLLBACKS_PER_S,
    Metric.DATABASE_READ_BYTES_PER_S,
    Metric.DATABASE_WRITE_BYTES_PER_S,
)

_FILES = {
    Metric.CPU_RATIO: "/proc/stat",
    Metric.FREEABLE_MEMORY_BYTES: "/proc/meminfo",
    Metric.NETWORK_RECEIVE_BYTES_PER_S: "/proc/net/dev",
    Metric.LOAD_AVERAGE: "/proc/loadavg",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Facts about the host before the first step."""

    name: str
    choice: DeviceChoice
    reading: HostReading
    """One reading of its counters."""
    device_bytes: int | None
    """Total size of the recorded devices."""
    server: ServerFacts | None = None
    """The database on the host; None if none was given."""


def instance_of(host: Host) -> Instance:
    """Return the host as an instance, without class and storage type, which are not known."""
    server, cpu, memory = host.server, host.reading.cpu, host.reading.memory
    return Instance(
        identifier=host.name,
        engine="postgres" if server is not None else None,
        engine_version=server.version if server is not None else None,
        connection_max=server.connection_max if server is not None else None,
        vcpu_count=cpu.cpu_count if cpu is not None else None,
        memory_bytes=memory.total_bytes if memory is not None else None,
        storage=Storage(
            size_gib=host.device_bytes / GIB if host.device_bytes is not None else None,
            volume_count=len(host.choice.devices),
        ),
    )


def snapshot_of(
    host: Host, recording: Recording, *, instance: Instance | None = None, program: str | None = None
) -> Snapshot:
    """
    Return the recording as a snapshot.

    Args:
        host: what was recorded.
        recording: result of the loop.
        instance: the instance that the host represents; None for itself.
        program: name of the recorded command, without its arguments, which may contain secrets.

    Raises:
        SourceError: the recording ended before one step was measured.
    """
    if not recording.track.count(Metric.READ_BYTES_PER_S):
        raise SourceError(
            f"nothing was recorded from {_devices(host)} in {recording.steps} whole steps of {recording.step_s} s",
            "Record for longer, or with a shorter --every. Check that the device stays attached.",
        )
    instance = instance if instance is not None else instance_of(host)
    ran = f" while {program} ran" if program else ""
    ended = "; ended early" if recording.was_interrupted else ""
    return Snapshot(
        instance=instance,
        series=recording.track.series(recording.start_s, recording.step_s),
        source=f"host {instance.identifier}, {_devices(host)}",
        note=(
            f"Recorded from Linux counters of {_devices(host)} ({host.choice.reason}) "
            f"in steps of {recording.step_s} s{ran}{ended}."
        ),
        gaps=_gaps(host, recording),
    )


def _devices(host: Host) -> str:
    names = host.choice.devices
    return f"device{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _gaps(host: Host, recording: Recording) -> tuple[Gap, ...]:
    gaps = [*_host_gaps(host, recording), *_database_gaps(host, recording)]
    return tuple(gaps)


def _host_gaps(host: Host, recording: Recording) -> list[Gap]:
    track, gaps = recording.track, []
    measured = recording.steps - recording.steps_missed
    if recording.steps_missed:
        gaps.append(
            Gap(
                metric="host counters",
                reason=f"{recording.steps_missed} of {recording.steps} steps were missed: "
                "the machine was too busy or asleep",
                remedy="Record with a longer --every.",
            )
        )
    away = measured - track.count(Metric.READ_BYTES_PER_S)
    if away > 0:
        gaps.append(
            Gap(
                metric=Metric.READ_BYTES_PER_S.value,
                reason=f"in {away} of {measured} steps {_devices(host)} was missing or new",
                remedy="Keep the device attached while recording.",
            )
        )
    gaps += [
        Gap(
            metric=metric.value,
            reason=f"unable to read {file}",
            remedy="Record on the host itself, where /proc is mounted.",
        )
        for metric, file in _FILES.items()
        if measured and not track.count(metric)
    ]
    if not track.count(Metric.FREE_STORAGE_BYTES):
        gaps.append(
            Gap(
                metric=Metric.FREE_STORAGE_BYTES.value,
                reason="the file system of the database is not known",
                remedy="Give --dsn, or record in the data directory with --device auto.",
            )
        )
    return gaps


def _database_gaps(host: Host, recording: Recording) -> list[Gap]:
    if host.server is None:
        return [Gap(metric=m.value, reason="no database was given", remedy="Give --dsn.") for m in _DATABASE_METRICS]
    gaps = list(gaps_of(host.server))
    gaps += [
        Gap(
            metric="pg_stat views",
            reason=f"{count} of {recording.steps + 1} readings failed: {reason}",
            remedy="Check that the server runs and has a free connection.",
        )
        for reason, count in recording.silences.items()
    ]
    return gaps
