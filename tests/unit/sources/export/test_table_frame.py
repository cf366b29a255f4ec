import io
import sys
from pathlib import Path

import polars as pl
import pytest

from fuzz import corpus
from plimsoll.errors import DataError, ExtraMissing, UsageError
from plimsoll.model.metric import BY_CLOUDWATCH_NAME, METRICS, Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.export.read import read_export

FIXTURES = Path(__file__).parents[3] / "fixtures" / "exports" / "tables"
T = 1_615_198_440
BALANCE, CPU = Metric.BYTE_BALANCE_RATIO, Metric.CPU_RATIO


@pytest.mark.parametrize(
    ("name", "metric", "identifier"),
    [
        ("ReadIOPS.csv", Metric.READ_OPS_PER_S, "unnamed"),
        ("orders-primary WriteLatency.csv", Metric.WRITE_LATENCY_S, "orders-primary"),
        ("rds_cpu_utilization.csv", Metric.CPU_RATIO, "unnamed"),
    ],
)
def test_a_file_named_after_its_metric(tmp_path, name, metric, identifier):
    """One file per metric with the columns time and value is common; the word value is nobody's name."""
    rows = [f"{T + 60 * i},{(20 + i % 7) / 1000}" for i in range(50)]
    snapshot = read(tmp_path, "\n".join(["timestamp,value", *rows]), name)

    assert {metric} == set(snapshot.series)
    assert identifier == snapshot.instance.identifier


def read(folder: Path, text: str | bytes, name: str = "t.csv", **options: str) -> Snapshot:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_export(folder / name, **options)


def written(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def assert_holds(snapshot: Snapshot, day: corpus.Made) -> None:
    assert len(snapshot.series) == len(day.values)
    assert snapshot.gaps == ()
    for name, values in day.values.items():
        series = snapshot.series[BY_CLOUDWATCH_NAME[name]]
        assert series.time_s.tolist() == day.time_s.tolist()
        assert series.value == pytest.approx(values * METRICS[series.metric].scale, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("long.csv", corpus.csv_long),
        ("long-semicolon.csv", lambda day: corpus.csv_long(day, delimiter=";")),
        ("long.tsv", lambda day: corpus.csv_long(day, delimiter="\t", with_unit=False)),
        ("wide.csv", corpus.csv_wide),
        ("wide-pipe.csv", lambda day: corpus.csv_wide(day, delimiter="|")),
        ("console.csv", corpus.csv_console),
        ("long.parquet", lambda day: corpus.parquet(day, long=True)),
        ("wide.parquet", corpus.parquet),
    ],
)
def test_every_shape_of_table_gives_the_numbers(tmp_path, name, make):
    day = corpus.made(25)

    assert_holds(read(tmp_path, make(day), name), day)


@pytest.mark.parametrize("size", [1, 1000, 10**6, 10**9])
def test_times_may_be_epoch_numbers_of_any_size(tmp_path, size):
    day = corpus.made(5)

    assert_holds(read(tmp_path, corpus.csv_wide(day, times=(day.time_s * size).tolist())), day)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_parquet_times_are_moments_whatever_their_unit_and_zone(tmp_path, unit, zone):
    day = corpus.made(5)
    times = pl.Series("time", day.time_s * 1000).cast(pl.Datetime("ms")).cast(pl.Datetime(unit))
    if zone is not None:
        times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)

    assert_holds(read(tmp_path, written(pl.DataFrame({"time": times, **day.values}))), day)


def test_parquet_columns_may_be_integers_decimals_text_or_narrow(tmp_path):
    frame = pl.DataFrame(
        {
            "timestamp": pl.Series([1615198440, 1615198500], dtype=pl.Int64),
            "ReadIOPS": pl.Series([1, None], dtype=pl.UInt16),
            "WriteIOPS": pl.Series(["2.5", "x"]),
            "ReadThroughput": pl.Series(["3.25", "4"]).cast(pl.Decimal(10, 2)),
            "CPUUtilization": pl.Series([12.5, float("nan")], dtype=pl.Float32),
            "tags": [["a"], ["b"]],
        }
    )
    snapshot = read(tmp_path, written(frame), "t.parquet")

    assert snapshot.series[Metric.READ_OPS_PER_S].value.tolist() == [1.0]
    assert snapshot.series[Metric.WRITE_OPS_PER_S].value.tolist() == [2.5]
    assert snapshot.series[Metric.READ_BYTES_PER_S].value.tolist() == [3.25, 4.0]
    assert snapshot.series[Metric.CPU_RATIO].value.tolist() == [0.125]
    # An absent cell is no sample; NaN and `x` are samples that say nothing, and are counted.
    assert {(g.metric, g.reason[:16]) for g in snapshot.gaps} == {
        ("tags", "unknown metric, "),
        ("write_ops_per_s", "1 sample dropped"),
        ("cpu_ratio", "1 sample dropped"),
    }


def test_the_consoles_download():
    """
    Label rows are no samples, an empty cell is none either, and a sparse column keeps the step of
    its table.
    """
    snapshot = read_export(FIXTURES / "console.csv")
    reads = snapshot.series[Metric.READ_BYTES_PER_S]

    assert snapshot.instance.identifier == "orders-primary"
    assert reads.value.tolist() == [212.5e6, 212.4e6]
    assert reads.step_s == 300
    assert snapshot.series[Metric.WRITE_OPS_PER_S].value.tolist() == [450.5, 451.0, 452.0]


READ_BYTES, WRITE_BYTES = Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S
READS, WRITES = Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S
STATISTICS = "".join(f"{time_s},ReadIOPS,Maximum,9\n{time_s},ReadIOPS,avg,5\n" for time_s in range(T, T + 180, 60))


@pytest.mark.parametrize(
    ("text", "expected", "gaps"),
    [
        pytest.param(
            "Label,WriteThroughput,WriteIOPS\nUnit,Megabytes/Second,Count/Second\n"
            "Statistic,Average,Maximum\n2021/03/08 10:00:00,5,7\n",
            *({WRITE_BYTES: [5e6]}, ["write_ops_per_s"]),
            id="a download may have other label rows; its units and statistics are obeyed",
        ),
        pytest.param(
            (FIXTURES / "wide.csv").read_text(),
            {READ_BYTES: [212.5e6], BALANCE: [0.995, 0.98], CPU: [0.6125]},
            ["read_bytes_per_s"],
            id="units in heads; with semicolons a comma is a decimal comma",
        ),
        ("time,metric,stat,value\n" + STATISTICS, {READS: [5.0, 5.0, 5.0]}, []),
        (f"time,db_instance_identifier,ReadIOPS\n{T},a1,5\n{T},b1,7\n{T + 60},b1,8\n", *({READS: [7.0, 8.0]}, [])),
        pytest.param(
            f"time,cpu_ratio,read_bytes_per_s\n{T},0.5,7\n",
            *({CPU: [0.5], READ_BYTES: [7.0]}, []),
            id="our own names are in our units",
        ),
        pytest.param(
            f"time,ReadIOPS,WriteIOPS\n{T},5\n{T + 60},6,7,8,9\n{T + 120},,3\n",
            *({READS: [5.0, 6.0], WRITES: [7.0, 3.0]}, []),
            id="short and long rows cost nothing else",
        ),
    ],
)
def test_what_stands_in_a_table_is_obeyed(tmp_path, text, expected, gaps):
    """Units, statistics, instances and names, wherever a table says them."""
    options = {"identifier": "b1"} if "b1" in text else {}
    snapshot = read(tmp_path, text, **options)

    assert expected.items() <= {m: s.value.tolist() for m, s in snapshot.series.items()}.items()
    assert [g.metric for g in snapshot.gaps] == gaps


def test_a_long_table_of_several_instances_and_statistics():
    """The chosen instance's averages are taken; the maxima beside them are not."""
    with pytest.raises(UsageError, match="2 instances"):
        read_export(FIXTURES / "long.csv")
    snapshot = read_export(FIXTURES / "long.csv", identifier="orders-primary")

    assert snapshot.series[Metric.READ_OPS_PER_S].value.tolist() == [1000.5, 1001.5]
    assert snapshot.series[Metric.READ_LATENCY_S].value.tolist() == [0.004]
    assert snapshot.gaps == ()


def test_windows_files_are_read(tmp_path):
    """CRLF, a byte order mark, UTF-16 and thousands separators in quotes."""
    text = 'timestamp,ReadThroughput\r\n2021-03-08T10:14:00Z,"1,234,567.5"\r\n'
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        snapshot = read(tmp_path, text.encode(encoding))

        assert snapshot.series[Metric.READ_BYTES_PER_S].value.tolist() == [1234567.5]


def test_damaged_parquet_is_one_sentence(tmp_path, monkeypatch):
    """A damaged file may end the decoding process without an exception; ours goes on."""
    whole = corpus.parquet(corpus.made(20))
    half = len(whole) // 2
    with pytest.raises(DataError, match=r"'t\.parquet' is"):
        read(tmp_path, whole[:half] + bytes(len(whole) - half), "t.parquet")

    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DataError, match=r"'t\.parquet' is not a readable table: it is damaged"):
        read(tmp_path, whole, "t.parquet")


def test_files_of_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    """The decoding process takes its libraries from the installation, wherever the user stands."""
    (tmp_path / "polars.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)

    assert len(read(tmp_path, corpus.parquet(corpus.made(3)), "t.parquet").series) == 12


def test_parquet_without_its_library_names_the_extra(tmp_path, monkeypatch):
    table = corpus.parquet(corpus.made(3))
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ExtraMissing, match=r"'t\.parquet' needs the extra 'tables'") as raised:
        read(tmp_path, table, "t.parquet")

    assert "Install it with: pip install 'plimsoll-db[tables]'." == raised.value.hint
