import numpy as np
import pytest

from fuzz import corpus
from plimsoll.model.metric import Metric
from plimsoll.sources.export.columns import Numbers, TableColumns, TableTimes, Words, texts_of
from plimsoll.sources.export.csv import slices
from plimsoll.sources.export.csv.file import read_csv
from plimsoll.sources.export.csv.slices import TextTable
from plimsoll.sources.export.read import read_export
from plimsoll.sources.reading.reading import Reading

ODD = (
    "5%", " 5", "5 ", "", "-", "NaN", "nan", "inf", "1e400", "1,5", "12 MB/s", "x", "+5", ".5", "1e3",
    "true", "0x10", "1_000", "n/a", "５",
)  # fmt: skip


def frame_of(data: bytes, names: list[str], delimiter: str = ",") -> TableColumns:
    start = data.index(b"\n") + 1
    table = TextTable(data=data, start=start, names=names, delimiter=delimiter, where="f")
    return table.frame(table.roles())


def blocks_of(data: bytes, tmp_path) -> list[tuple]:
    reading = Reading()
    read_csv(data, reading, where="f", path=tmp_path / "f.csv")
    return [(b.name, b.unit, b.time_s.tolist(), [str(v) for v in b.value.tolist()]) for b in reading.blocks]


@pytest.mark.parametrize(
    ("data", "last", "column", "texts"),
    [
        # Only a column that holds more than plain numbers is kept as text, and times never are.
        (b"time,ReadIOPS,WriteIOPS\n1615198440,5,6\n1615198500,,7 io/s\n", *(Words, 2, ["6", "7 io/s"])),
        # Quotes around every cell, an empty one too, make no text of a column of numbers.
        (b'"time","ReadIOPS","WriteIOPS"\n"1615198440","5","6"\n"1615198500","","7"\n', *(Numbers, 1, ["5", ""])),
    ],
)
def test_plain_columns_are_numbers_and_odd_ones_are_text(data, last, column, texts):
    frame = frame_of(data, ["time", "ReadIOPS", "WriteIOPS"])

    assert {0: TableTimes, 1: Numbers, 2: last} == {i: type(c) for i, c in frame.columns.items()}
    assert texts == texts_of(frame.columns[column]).texts


@pytest.mark.parametrize(("write", "size"), [(corpus.csv_wide, 1 << 20), (corpus.csv_long, 200)])
def test_metrics_of_a_table_share_its_times(tmp_path, monkeypatch, write, size):
    """Twelve metrics of one table, also in slices, have one array of times from the file to the snapshot."""
    monkeypatch.setattr(slices, "SLICE_BYTES", size)
    day = corpus.made(50)
    (tmp_path / "t.csv").write_bytes(write(day))
    series = read_export(tmp_path / "t.csv").series

    assert 12 == len(series)
    assert 1 == len({id(s.time_s) for s in series.values()})
    assert day.time_s.tolist() == series[Metric.READ_OPS_PER_S].time_s.tolist()
    assert np.array_equal(day.values["ReadIOPS"], series[Metric.READ_OPS_PER_S].value)


def test_a_line_break_in_quotes_ends_no_slice(monkeypatch):
    """Wherever a table is cut, a cell with line breaks and doubled quotes stays whole."""
    row = b'1615198440,"a ""b""\n\nc",5\n'
    for size in range(1, len(row)):
        monkeypatch.setattr(slices, "SLICE_BYTES", size)
        table = TextTable(data=row * 3, start=0, names=["t", "n", "v"], delimiter=",", where="f")

        assert {0} == {end % len(row) for _, end in table._slices()}


def test_a_long_table_with_an_odd_cell_is_read_as_text(tmp_path, monkeypatch):
    """A unit in the last slice is found for the whole column, as if the table had not been cut."""
    data = b"time,metric,value\n" + b"1615198440,ReadIOPS,5\n" * 9 + b"1615198500,ReadIOPS,7 io/s\n"
    whole = blocks_of(data, tmp_path)
    monkeypatch.setattr(slices, "SLICE_BYTES", 30)

    assert whole == blocks_of(data, tmp_path)
    assert whole[0][3][-1] == "7.0"


def test_columns_that_lack_the_same_cells_share_their_times(tmp_path):
    reading = Reading()
    data = b"time,ReadIOPS,WriteIOPS\n1615198440,5,6\n1615198500,,\n1615198560,7,8\n"
    read_csv(data, reading, where="f", path=tmp_path / "f.csv")
    reads, writes = reading.blocks

    assert [1615198440, 1615198560] == reads.time_s.tolist()
    assert reads.time_s is writes.time_s


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_slices_change_nothing(tmp_path, monkeypatch, odd, delimiter):
    """
    Whatever a cell says, and with quotes around it, a table cut into slices gives what the same
    table gives where every cell is read as text.
    """
    odd = odd.replace(",", "" if delimiter == "," else ",")
    rows = [f"{1615198440 + 60 * i};{i};{odd if i == 7 else i}" for i in range(20)]
    rows[3] = f";1;{odd}"
    head = "timestamp;ReadIOPS;ReadThroughput"
    cut = "\n".join([head, *rows]).replace(";", delimiter).encode()
    quoted = "\n".join('"' + row.replace(";", '";"') + '"' for row in [head, *rows])
    with monkeypatch.context() as texts:
        texts.setattr(TextTable, "frame", lambda t, _: t._as_words(t._parts(), [0, 1, 2]))
        whole = blocks_of(cut, tmp_path)
    monkeypatch.setattr(slices, "SLICE_BYTES", 60)

    assert whole == blocks_of(cut, tmp_path)
    assert whole == blocks_of(quoted.replace(";", delimiter).encode(), tmp_path)


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        (b"1615198440,5,6\n", [5.0]),
        (b'"1615198440","5","6"\n', [5.0]),
        (b'1615198440,"5",6\n', [5.0]),
        (b"1615198440,5\n1615198500,6,7,8\n", [5.0, 6.0]),
        (b"1615198440,5,6\n\n1615198500,7,8\n", [5.0, 7.0]),
        (b"1615198440,5,6\r\n1615198500,7,8\r\n", [5.0, 7.0]),
        (b'1615198440,5,"a,b"\n1615198500,7,"c\nd"\n', [5.0, 7.0]),
    ],
)
def test_rows_may_be_written_in_any_way(tmp_path, rows, values):
    """Rows that are even, in quotes, partly in quotes, short, long, empty or of Windows are all read."""
    reading = Reading()
    read_csv(b"time,ReadIOPS,WriteIOPS\n" + rows, reading, where="f", path=tmp_path / "f.csv")

    assert values == reading.blocks[0].value.tolist()
