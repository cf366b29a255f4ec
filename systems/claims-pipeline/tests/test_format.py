"""The formatter: what it does with right and wrong records, compared with a plain formatter in Python."""

from pathlib import Path

import pytest
from formatting import Formatted, formatted, plainly, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claims_pipeline.layout import Field, Record, records
from claims_pipeline.manifest import class_of

PART_D = records()["part_d_events"]
every = pytest.mark.parametrize("record", records().values(), ids=lambda record: record.kind)


def line(record: Record, **values: bytes) -> bytes:
    """A record that is right if the values are, with a key."""
    whole = bytearray(b" " * record.width)
    for name in record.key:
        values.setdefault(name, b"1")
    for name, value in values.items():
        field = record.field(name)
        whole[field.slice] = value.ljust(field.width)
    return bytes(whole)


def compare(record: Record, raw: bytes, found: Formatted) -> None:
    rows, faults, sums = plainly(record, raw)

    assert rows == found.rows
    assert faults == [(int(row[1]), class_of(row[2])) for row in found.quarantine]
    assert sums == found.summary["sums"]
    assert len(rows) + len(faults) == found.summary["records"]
    assert len(faults) == found.summary["quarantined"]
    assert len(raw) == found.summary["bytes"]


def test_an_empty_file_has_no_rows(tmp_path: Path):
    assert ([], []) == formatted(PART_D, b"", tmp_path)[:2]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("is_ended", [True, False], ids=["ended", "not ended"])
def test_the_end_of_a_line_makes_no_difference(tmp_path: Path, end: bytes, is_ended: bool):
    raw = end.join([line(PART_D, cur_clm_uniq_id=b"5"), line(PART_D, cur_clm_uniq_id=b"6")])
    found = formatted(PART_D, raw + end * is_ended, tmp_path)

    assert ["5", "6"] == [row[3] for row in found.rows]
    assert [] == found.quarantine


def test_a_file_of_another_kind_is_refused_before_anything_is_written(tmp_path: Path):
    other = records()["part_a_lines"]
    done = run(PART_D, (line(other) + b"\n") * 9, tmp_path)

    assert (2, b"") == (done.returncode, done.stdout)
    assert (
        "error: 'P.TEST' has records of 199 bytes, as part_a_lines has, not of 195 bytes, "
        "as part_d_events has\nhint: Format it with --kind part_a_lines.\n"
    ) == done.stderr.decode()


def test_a_record_that_is_cut_to_the_length_of_another_kind_is_quarantined(tmp_path: Path):
    """One damaged record at the beginning is no reason to refuse a file."""
    record = records()["part_a_lines"]
    found = formatted(record, line(record)[:195] + b"\n" + line(record), tmp_path)

    assert [["7", "1", "truncated record: 195 of 199 bytes"]] == [r[:3] for r in found.quarantine]
    assert 1 == len(found.rows)


def test_a_quarantined_record_has_file_line_reason_and_raw(tmp_path: Path):
    wrong = line(PART_D, clm_line_bene_pmt_amt=b"12.3O", clm_phrmcy_srvc_type_cd=b"\xff\0")
    found = formatted(PART_D, line(PART_D) + b"\n" + wrong, tmp_path)

    (row,) = found.quarantine
    assert ["7", "2", "bad number: clm_line_bene_pmt_amt is '12.3O'"] == row[:3]
    assert row[3].endswith("\\xff\\x00")


def test_an_option_that_is_missing_is_one_sentence(tmp_path: Path):
    done = run(PART_D, b"", tmp_path, "--file-id", "x")

    assert 2 == done.returncode
    assert b"error: --file-id is 'x', which is no number\nhint: For example 17.\n" == done.stderr


def values_of(field: Field) -> st.SearchStrategy[bytes]:
    """Values of a field, mostly right; those that are too long are cut."""
    letters = st.text("AZ az09,\"'\\.\tÑ\u0085", max_size=field.width).map(str.encode)
    if field.type == "date":
        days = st.dates().map(lambda day: day.isoformat().encode())
        odd = [b"1000-01-01", b"9999-12-31", b"2023-02-29", b"20230101", b"0000-01-01", b""]
        return st.one_of(days, days, st.sampled_from(odd))
    if field.type == "text":
        return st.one_of(letters, st.text('AB,"', max_size=9).map(str.encode))
    numbers = st.from_regex(r"\A[-+]?0{0,3}[0-9]{0,19}(\.[0-9]{0,4})?\Z").map(str.encode)
    plain = st.integers(0, 9999).map(lambda n: b"%d" % n)
    return st.one_of(plain, plain, plain, numbers, st.just(b""), st.just(b"1O"))


def lines_of(record: Record) -> st.SearchStrategy[bytes]:
    """Records in which up to four fields are set; some cut, some too long."""
    sets = st.lists(
        st.sampled_from(record.fields).flatmap(
            lambda field: values_of(field).map(lambda value: (field.name, value[: field.width]))
        ),
        max_size=4,
    )
    whole = sets.map(lambda given: line(record, **dict(given)))
    cut = st.tuples(whole, st.integers(-9, 3)).map(
        lambda both: both[0][: both[1]] if both[1] < 0 else both[0] + b" " * both[1]
    )
    ended = st.tuples(st.one_of(whole, whole, whole, cut), st.sampled_from([b"\n", b"\n", b"\r\n"]))
    return ended.map(b"".join)


@every
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_it_does_what_a_plain_formatter_does(tmp_path: Path, record: Record, data: st.DataObject):
    """
    Also for quotes, other letters, control characters, bytes that are not UTF-8 and numbers that are too large.
    """
    raw = b"".join(data.draw(st.lists(lines_of(record), min_size=1, max_size=25)))
    raw = line(record) + b"\n" + raw + line(record)[: data.draw(st.sampled_from([None, 50]))]

    compare(record, raw, formatted(record, raw, tmp_path))
