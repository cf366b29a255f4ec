"""sysstat's binary files and their JSON become snapshots, whole or broken off."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.errors import DataError, PlimsollError, SourceError, UsageError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind, Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.sources.sysstat import sadf
from plimsoll.sources.sysstat.iostat import is_iostat, parse_iostat
from plimsoll.sources.sysstat.recognise import is_host_capture, parse_capture
from plimsoll.sources.sysstat.sadf import is_sysstat_file
from plimsoll.sources.sysstat.sadf_json import is_sadf_json
from plimsoll.sources.sysstat.sar import parse_sar
from unit.sources.sysstat import test_iostat, test_sar_text
from unit.sources.sysstat.fixture_sar import DAY_S, HEADER, NOON_S, at, gaps

JSON = (Path(__file__).parent / "captures/sadf.json").read_bytes()
SYSSTAT_12 = b"\x96\xd5\x75\x21\x0c\x06\x01\x00"
SYSSTAT_9 = b"\x96\xd5\x71\x21\x09\x01\x06\x00"
BIG_ENDIAN = b"\xd5\x96\x21\x75\x00\x01\x06\x0c"

REFUSAL = "Current sysstat version cannot read the format of this file (0x2170)"

Fake = Callable[[str], None]


def read(data: bytes, device: str | None = None) -> Snapshot:
    return parse_capture(data, where="capture", device=device)


def entry(time: str, date: str = "2026-11-20", **zone: Any) -> dict[str, Any]:
    return {
        "timestamp": {"date": date, "time": time, "interval": 600} | (zone or {"utc": 1}),
        "disk": [
            {"disk-device": "sda", "tps": 100.0, "rd_sec": 2000.0, "wr_sec": 6000.0}
            | {"avgrq-sz": 80.0, "avgqu-sz": 2.5, "await": 25.0, "svctm": 1.0, "util-percent": 9.0}
        ],
    }


def document(*entries: dict[str, Any], host: str = "db1", **more: Any) -> bytes:
    one = {"nodename": host, "number-of-cpus": 8, "file-date": "2026-11-20"}
    hosts = [one | {"statistics": list(entries)} | more]
    return json.dumps({"sysstat": {"hosts": hosts}}).encode()


@pytest.fixture
def fake_sadf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Put a shell script in place of sadf."""

    def install(script: str) -> None:
        program = tmp_path / "sadf"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return install


def test_sectors_of_sysstat_10_and_11_are_read():
    """
    Before 11.7 the JSON has sectors of 512 bytes and avgqu-sz only. Each entry says how long it is, so
    even a single one can be placed.
    """
    snapshot = read(document(entry("12:10:00"), entry("12:20:00")))
    series = read(document(entry("12:10:00"))).series[Metric.READ_BYTES_PER_S]

    assert [1_024_000] * 2 == at(snapshot, Metric.READ_BYTES_PER_S)
    assert [2.5] * 2 == at(snapshot, Metric.QUEUE_DEPTH)
    assert (NOON_S, NOON_S + 1200) == snapshot.window_s
    assert "time zone" not in gaps(snapshot)
    assert (600, [NOON_S]) == (series.step_s, series.time_s.tolist())


@pytest.mark.parametrize(
    ("zone", "is_known"), [({"utc": 1}, True), ({"tz": "UTC"}, True), ({"utc": 0}, False), ({"tz": "CET"}, False)]
)
def test_local_times_are_called_unknown(zone: dict[str, Any], is_known: bool):
    """sadf writes UTC unless told otherwise; since 12.7 the name of the zone stands there."""
    assert is_known is ("time zone" not in gaps(read(document(entry("12:10:00", **zone)))))


def test_documents_of_several_days_are_one_snapshot_and_of_several_hosts_are_refused():
    """`for f in sa20 sa21; do sadf -j $f; done` writes one after another; disks of two hosts are not one story."""
    days = document(entry("12:10:00")) + document(entry("12:10:00", "2026-11-21"))

    assert [NOON_S, NOON_S + DAY_S] == read(days).series[Metric.READ_BYTES_PER_S].time_s.tolist()
    with pytest.raises(DataError, match="db1, db2"):
        read(document(entry("12:10:00")) + document(entry("12:20:00"), host="db2"))


def test_a_restart_is_an_event():
    """sadf lists them beside the samples."""
    boot = {"boot": {"date": "2026-11-20", "time": "12:05:00", "utc": 1, "cpu_count": 8}}
    (event,) = read(document(entry("12:20:00"), restarts=[boot])).annotations

    assert (NOON_S + 300, EventKind.RESTART) == (event.time_s, event.kind)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_what_is_whole_in_a_broken_document_is_used(share: float):
    """A lost connection ends the JSON anywhere; the samples before are good and the end is named."""
    whole, broken = read(JSON), read(JSON[: int(len(JSON) * share)])
    count = broken.series[Metric.READ_OPS_PER_S].time_s.size

    assert 3 < count < whole.series[Metric.READ_OPS_PER_S].time_s.size
    assert at(whole, Metric.READ_OPS_PER_S)[:count] == at(broken, Metric.READ_OPS_PER_S)
    assert "ends in the middle" in gaps(broken)["end of the capture"].reason
    assert "end of the capture" not in gaps(whole)
    assert ("host", 2) == (broken.instance.identifier, broken.instance.vcpu_count)


def test_a_document_broken_before_its_first_sample_is_an_error():
    """There is nothing to use."""
    for text in (JSON[:300], JSON[:700]):
        with pytest.raises(DataError):
            read(text)


def test_the_three_kinds_are_told_apart():
    """iostat's JSON, sadf's, and binary files of machines of either byte order."""
    iostat = (Path(__file__).parent / "captures/saturated-iostat.json").read_bytes()

    assert (True, False) == (is_sadf_json(JSON), is_iostat(JSON))
    assert (False, True) == (is_sadf_json(iostat), is_iostat(iostat))
    assert is_sadf_json(b'{"sysstat": {"sysdata-version": 2.15, "hosts": [')
    assert all(map(is_sysstat_file, (SYSSTAT_12, SYSSTAT_9, BIG_ENDIAN)))
    assert not any(map(is_sysstat_file, (b"", b"\x96\xd5", JSON, b"\x96\xd5\x00\x00")))
    assert all(map(is_host_capture, (JSON, SYSSTAT_12, b"\xfd7zXZ\x00\x00", iostat)))
    assert not is_host_capture(b"timestamp,ReadIOPS\n")


def test_a_binary_file_is_read_by_sadf(fake_sadf: Fake, tmp_path: Path):
    """It is given the bytes as they came, asked for what we use, and speaks the C locale's English."""
    fake_sadf(f'echo "$@ $LC_ALL" > {tmp_path}/said; cp "$2" {tmp_path}/given; cat {tmp_path}/json')
    (tmp_path / "json").write_bytes(document(entry("12:10:00")))
    snapshot = read(SYSSTAT_12)

    assert (NOON_S, NOON_S + 600) == snapshot.window_s
    assert SYSSTAT_12 == (tmp_path / "given").read_bytes()
    text = (tmp_path / "said").read_text().split()
    assert ["-j", "--", "-d", "-b", "-u", "-r", "-S", "-q", "-n", "DEV", "C"] == [text[0], *text[2:]]
    assert not Path(text[1]).exists()
    # The file says it is of db1, which this machine is not.
    assert "used this machine's device names" in gaps(snapshot)["device names"].reason


def test_what_sadf_remarks_is_passed_on(fake_sadf: Fake, tmp_path: Path):
    """A file that ends early is read as far as it goes."""
    (tmp_path / "json").write_bytes(document(entry("12:10:00"), entry("12:20:00"))[:-20])
    fake_sadf(f"cat {tmp_path}/json; echo End of system activity file unexpected >&2")

    assert "end of system activity file" in gaps(read(SYSSTAT_12))["sysstat file"].reason


def test_a_file_of_an_older_version_is_converted_first(fake_sadf: Fake, tmp_path: Path):
    """sadf refuses it and names its own -c, which writes the file anew."""
    (tmp_path / "json").write_bytes(document(entry("12:10:00")))
    fake_sadf(
        'if [ "$1" = -c ]; then echo converting >&2; echo new; exit; fi\n'
        f'if [ "$(cat "$2")" = new ]; then cat {tmp_path}/json; exit; fi\n'
        'echo "Invalid system activity file: $2" >&2; echo "sadf -c $2 > $2.new" >&2; exit 3'
    )
    snapshot = read(SYSSTAT_9)

    assert (NOON_S, NOON_S + 600) == snapshot.window_s
    assert "sysstat file" not in gaps(snapshot)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            f"echo Invalid system activity file: $2 >&2; echo '{REFUSAL}' >&2; exit 3",
            "cannot read the format of this file (0x2170)",
        ),
        ('echo "Invalid system activity file: $2" >&2; exit 3', "not a system activity file"),
        ("exit 7", "ended with 7"),
        ("echo prose", "ended with 0"),
        ("kill -9 $$", "ended with -9"),
    ],
)
def test_what_sadf_refuses_is_one_sentence_with_the_remedy(fake_sadf: Fake, script: str, says: str):
    """The host that wrote the file can always read it; our copy's name is not shown."""
    fake_sadf(script)
    with pytest.raises(DataError) as raised:
        read(SYSSTAT_9)

    assert says in raised.value.message
    assert "plimsoll-sadf-" not in raised.value.message
    assert "on the host that wrote it" in raised.value.hint


def test_without_sadf_the_remedy_is_to_run_it_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A laptop that got the file by mail need not have sysstat."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError) as raised:
        read(SYSSTAT_12)

    assert "sadf is not installed" in raised.value.message
    assert "sadf -j FILE" in raised.value.hint


@pytest.mark.parametrize(
    ("script", "kind", "says"),
    [
        pytest.param("exec sleep 60", SourceError, "did not end", id="a child with a time limit"),
        pytest.param("exec yes '{'", DataError, "larger than 2 GiB", id="memory is bounded too"),
    ],
)
def test_a_sadf_that_does_not_end_is_ended(fake_sadf: Fake, monkeypatch, script, kind, says):
    monkeypatch.setattr(sadf, "_PATIENCE_S", 0.2 if kind is SourceError else 20)
    monkeypatch.setattr(sadf, "MAX_BYTES", 100_000)
    fake_sadf(script)
    with pytest.raises(kind, match=says):
        read(SYSSTAT_12)


def test_what_needs_no_sadf_is_refused_before_it_runs(fake_sadf: Fake):
    """Binary files have times; and sysstat packs days of last week with xz, whose program is named."""
    fake_sadf("exit 7")
    with pytest.raises(UsageError, match="have times"):
        parse_capture(SYSSTAT_12, where="capture", step_s=1)
    with pytest.raises(DataError) as raised:
        read(b"\xfd7zXZ\x00\x00\x04")

    assert "xz -dc" in raised.value.hint


DAMAGED = [
    (parse_iostat, test_iostat.TEXT.read_bytes()[:3000]),
    (parse_iostat, test_iostat.JSON.read_bytes()[:4000]),
    (parse_iostat, test_iostat.OLD.encode()),
    (parse_sar, test_sar_text.TEXT[-6000:].encode()),
    (parse_sar, (HEADER + test_sar_text.TEXT[200:3000]).encode()),
    (parse_sar, test_sar_text.SYSSTAT_10.encode()),
    (parse_capture, JSON[:6000] + JSON[-200:]),
]
ODD = ["", "nan", "NaN", "-1", "1e999", "\x00", "9" * 5000, "{", "[", '"', "99:99:99", "12:00:00 PM", "٣"]


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_nothing_damaged_breaks_a_parser(data: st.DataObject):
    """Whatever is cut out, doubled or overwritten: a snapshot that can be kept, or one clear error."""
    parse, whole = data.draw(st.sampled_from(DAMAGED))
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    middle = data.draw(st.sampled_from(ODD) | st.text(max_size=20))
    put = data.draw(st.sampled_from([middle.encode(), whole[start:end] * 2]))
    with suppress(PlimsollError):
        snapshot = parse(whole[:start] + put + whole[end:], where="capture")
        assert all(not (np.asarray(s.value) < 0).any() for s in snapshot.series.values())
        assert snapshot == decode_snapshot(encode_snapshot(snapshot))
