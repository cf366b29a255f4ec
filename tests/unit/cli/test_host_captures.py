"""What an operator can send through a pipe, at the command line."""

import io
import json
from pathlib import Path

import pytest

from fuzz import corpus
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot

CAPTURES = Path(__file__).parents[1] / "sources/sysstat/captures"
SAR = CAPTURES / "sar.txt"
WITHOUT_TIMES = "\n".join(
    line for line in (CAPTURES / "sar-iostat.txt").read_text().splitlines() if not line.startswith("2026-")
)


@pytest.fixture
def plimsoll(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The command line in a scratch folder, with something on standard input."""
    monkeypatch.chdir(tmp_path)
    return run


def saved(name: str = "f.json") -> Snapshot:
    return decode_snapshot(Path(name).read_bytes())


@pytest.mark.parametrize("name", ["sar.txt", "sadf.json", "sar-iostat.txt", "saturated-iostat.json"])
def test_a_capture_is_diagnosed_from_standard_input_as_from_a_file(plimsoll, name: str):
    """The same report, but for the name of where it came from."""
    path = CAPTURES / name
    from_file = plimsoll("diagnose", str(path), "--format", "json")
    piped = plimsoll("diagnose", "-", "--format", "json", given=path.read_bytes())

    assert from_file[0] == piped[0]
    assert from_file[1].replace(f"'{name}'", "standard input") == piped[1]
    assert "standard input" in piped[1]


@pytest.mark.parametrize("name", ["metric-data.json", "wide.csv", "enhanced.jsonl", "long.parquet"])
def test_every_format_is_read_from_standard_input(plimsoll, name: str):
    """Not only captures: whatever a file may hold, and a recorded snapshot again."""
    data = corpus.all_formats()[name]
    status, _, result = plimsoll("record", "-", "-o", "f.json", given=data)
    assert (0, True) == (status, "standard input" in result), result
    status, _, result = plimsoll("record", "-", "-o", "g.json", given=Path("f.json").read_bytes())

    assert 0 == status, result
    assert saved("f.json") == saved("g.json")
    assert Metric.READ_OPS_PER_S in saved().series


@pytest.mark.parametrize(
    ("words", "expected", "source"),
    [
        # The class brings its own number of volumes; the identifier is what the reports will say.
        (
            "host --from - --device vda,loop0 --identifier orders --class db.r5.2xlarge --storage gp2 --size-gib 1000",
            *(("orders", "db.r5.2xlarge", None, 2), "devices vda, loop0"),
        ),
        # A host's name is not the database's, so the one description is meant.
        ("- --instance d.json", (corpus.IDENTIFIER, "db.r5.2xlarge", 1, 2), ""),
    ],
)
def test_a_capture_is_recorded_for_a_claimed_or_described_instance(plimsoll, tmp_path: Path, words, expected, source):
    (tmp_path / "d.json").write_bytes(corpus.described())
    status, _, result = plimsoll("record", *words.split(), "-o", "f.json", given=SAR.read_bytes())
    found = saved().instance

    assert 0 == status, result
    assert expected == (found.identifier, found.db_class, found.storage.volume_count, found.vcpu_count)
    assert source in saved().source


def test_a_capture_in_a_file_is_recorded_from_it(plimsoll):
    """Without -o the file is called after the host and the first moment."""
    status, _, result = plimsoll("record", "host", "--from", str(SAR))

    assert 0 == status, result
    assert "sar output 'sar.txt', device vda" == saved("host-20261120T124522Z.json").source


def test_a_capture_without_times_is_read_by_the_second_or_as_told(plimsoll):
    """Its reports stand in a row; the report says that a second was assumed."""
    given = WITHOUT_TIMES.encode()
    _, shown, result = plimsoll("diagnose", "-", given=given)
    assert ("", True) == (result, "1 s is assumed" in " ".join(shown.split()))

    arguments = ("record", "host", "--from", "-", "--every", "1s", "-o", "f.json")
    assert 0 == plimsoll(*arguments, given=given)[0]
    assert {"times"} & {gap.metric for gap in saved().gaps}
    status, _, result = plimsoll(*arguments, given=SAR.read_bytes())
    assert (2, True) == (status, "Leave out --every" in result)


class Interrupted(io.BytesIO):
    """A pipe on which Ctrl-C comes where its data ends."""

    def read1(self, size: int | None = -1, /) -> bytes:
        part = super().read1(size)
        if not part:
            raise KeyboardInterrupt
        return part


def test_ctrl_c_ends_a_capture_and_keeps_it(plimsoll, monkeypatch: pytest.MonkeyPatch):
    """The snapshot is there, and says that it was ended from outside."""
    pipe = Interrupted(SAR.read_bytes())
    monkeypatch.setattr("plimsoll.sources.files.standard_input._stream", lambda: pipe)
    status, _, result = plimsoll("record", "host", "--from", "-", "-o", "f.json")

    assert 0 == status, result
    assert "ended from outside" in {g.metric: g.reason for g in saved().gaps}["standard input"]

    pipe.seek(0)
    _, out, _ = plimsoll("diagnose", "-", "--format", "json")
    assert "ended from outside" in json.dumps(json.loads(out))
