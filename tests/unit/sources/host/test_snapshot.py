"""What a recorded host says of itself in a snapshot."""

from pathlib import Path

import pytest

from plimsoll.errors import SourceError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.sources.host.counters import CpuCounters, MemoryBytes
from plimsoll.sources.host.device import DeviceChoice
from plimsoll.sources.host.loop import Recording
from plimsoll.sources.host.rates import HostReading
from plimsoll.sources.host.reader import HostReader, SystemClock
from plimsoll.sources.host.snapshot import Host, instance_of, snapshot_of
from plimsoll.sources.postgres.pg_stat import ServerFacts

SERVER = ServerFacts(
    place="localhost:5432/orders",
    role="app",
    version="16.4",
    version_number=160004,
    connection_max=200,
    data_directory=None,
    sees_all_sessions=False,
    is_here=True,
)


def host(server: ServerFacts | None = None, devices: tuple[str, ...] = ("nvme1n1",)) -> Host:
    return Host(
        name="db1",
        choice=DeviceChoice(devices=devices, reason="named"),
        reading=HostReading(
            moment_s=0,
            disks={},
            cpu=CpuCounters(busy_ticks=1, idle_ticks=1, cpu_count=8),
            memory=MemoryBytes(total_bytes=2**35, available_bytes=1, swap_bytes=0),
        ),
        device_bytes=100 * 2**30,
        server=server,
    )


def recording(steps: int = 3) -> Recording:
    made = Recording(start_s=1_700_000_000, step_s=1, steps=steps)
    for step in range(steps):
        made.track.add(step, {Metric.READ_BYTES_PER_S: 1.0, Metric.CPU_RATIO: 0.5, Metric.LOAD_AVERAGE: 1.0})
    return made


def test_a_host_is_an_instance_without_a_class():
    """Only what was read is known; a host has neither class nor kind of storage."""
    instance = instance_of(host(SERVER, devices=("nvme1n1", "nvme2n1")))

    assert (None, None) == (instance.db_class, instance.storage.kind)
    assert ("db1", "postgres", "16.4") == (instance.identifier, instance.engine, instance.engine_version)
    assert (8, 2**35, 200) == (instance.vcpu_count, instance.memory_bytes, instance.connection_max)
    assert (100, 2) == (instance.storage.size_gib, instance.storage.volume_count)
    assert None is instance_of(host()).engine


def test_a_snapshot_says_what_was_recorded_and_survives_its_file():
    """Source and note name host, device, reason and step; the file form gives the same snapshot."""
    snapshot = snapshot_of(host(), recording(), program="pgbench")

    assert "host db1, device nvme1n1" == snapshot.source
    expected = "Recorded from Linux counters of device nvme1n1 (named) in steps of 1 s while pgbench ran."
    assert expected == snapshot.note
    assert (1_700_000_000, 1_700_000_003) == snapshot.window_s
    assert snapshot == decode_snapshot(encode_snapshot(snapshot))
    assert not snapshot.is_simulated


def test_what_is_missing_is_a_gap_with_what_would_supply_it():
    """A role without rights gets the GRANT, an unread file is named, a lost reading is counted."""
    made = recording(steps=10)
    made.steps_missed = 2
    made.steps = 14
    made.silences["server closed the connection"] = 3

    gaps = {gap.metric: gap for gap in snapshot_of(host(SERVER), made).gaps}

    assert "GRANT pg_monitor TO app;" == gaps["connection_count"].remedy
    assert "2 of 14 steps were missed" in gaps["host counters"].reason
    assert "in 2 of 12 steps device nvme1n1 was missing" in gaps["read_bytes_per_s"].reason
    assert "unable to read /proc/meminfo" == gaps["freeable_memory_bytes"].reason
    assert "3 of 15 readings failed: server closed" in gaps["pg_stat views"].reason
    assert "counts no WAL" in gaps["database_write_bytes_per_s"].reason
    assert "--dsn" in gaps["free_storage_bytes"].remedy
    assert "cpu_ratio" not in gaps


def test_without_a_database_its_metrics_are_gaps_and_an_early_end_is_told():
    """
    Connections are unknown then, not zero; a reader must know that the end of the window is not the
    end of the work.
    """
    made = recording()
    made.was_interrupted = True
    snapshot = snapshot_of(host(), made)
    gaps = {gap.metric: gap for gap in snapshot.gaps}

    assert "; ended early." in snapshot.note
    assert "Give --dsn." == gaps["connection_count"].remedy == gaps["transactions_per_s"].remedy


def test_nothing_recorded_is_an_error():
    """A recording without one measured step is no snapshot."""
    with pytest.raises(SourceError) as raised:
        snapshot_of(host(), Recording(start_s=0, step_s=5))

    assert "nothing was recorded from device nvme1n1" in raised.value.message


@pytest.mark.parametrize(("has_hardware", "received_bytes", "sent_bytes"), [(True, 5, 6), (False, 10, 12)])
def test_the_reader_takes_what_it_can_read(tmp_path: Path, has_hardware: bool, received_bytes: int, sent_bytes: int):
    """
    A missing file leaves its counters unknown. Interfaces with hardware are those that count; a container's
    have no device behind them, so all but loopback do.
    """
    proc = tmp_path / "proc"
    (proc / "net").mkdir(parents=True)
    if has_hardware:
        (proc / "diskstats").write_text("259 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 0 sdb 1 2 3 4 5 6 7 8 9 10 11\n")
        (proc / "loadavg").write_text("0.25 0 0 1/2 3\n")
        (tmp_path / "sys/class/net/eth0/device").mkdir(parents=True)
    row = "{}: {} 0 0 0 0 0 0 0 {} 0 0 0 0 0 0 0\n"
    (proc / "net/dev").write_text(row.format("lo", 9, 9) + row.format("eth0", 5, 6) + row.format("docker0", 5, 6))
    mount = None if has_hardware else str(tmp_path)
    reading = HostReader(devices=("sda",), mount=mount, clock=SystemClock(), root=tmp_path).read()

    assert (["sda"] if has_hardware else []) == list(reading.disks)
    assert (None, None, 0.25 if has_hardware else None) == (reading.cpu, reading.memory, reading.load_average)
    assert reading.network is not None
    assert (received_bytes, sent_bytes) == (reading.network.received_bytes, reading.network.sent_bytes)
    assert has_hardware is (reading.free_storage_bytes is None)
