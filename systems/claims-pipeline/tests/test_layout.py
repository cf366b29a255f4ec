"""The layouts are those of CMS's packet, and agree with themselves."""

import re

import pytest

from claims_pipeline.layout import Record, records

# Of the packet's appendix B: the end of the last field, and how many there are.
ENDS = {
    "part_a_claims": (1, 437, 45),
    "part_a_lines": (2, 199, 23),
    "part_a_diagnoses": (4, 112, 14),
    "part_b_lines": (5, 388, 52),
    "part_d_events": (7, 195, 21),
    "beneficiaries": (8, 549, 31),
}
FORMAT = re.compile(r"(-?)(?:9|X)\((\d+)\)(\.9+)?\Z")

every = pytest.mark.parametrize("record", records().values(), ids=lambda record: record.kind)


def test_kinds_and_lengths_are_those_of_the_packet():
    found = {r.kind: (r.cclf, r.width, len(r.fields)) for r in records().values()}

    assert ENDS == found


@every
def test_fields_follow_one_another_without_gaps(record: Record):
    end = 1
    for field in record.fields:
        assert end == field.start, field.name
        end += field.width


@every
def test_a_field_is_as_wide_as_its_format(record: Record):
    """-9(13).99 is a sign, 13 digits, a point and 2 digits."""
    for field in record.fields:
        if field.format == "YYYY-MM-DD":
            width = 10
        else:
            sign, digits, rest = FORMAT.fullmatch(field.format).groups()
            width = len(sign) + int(digits) + len(rest or "")
        assert width == field.width, field.name


@every
def test_names_are_unique_and_keys_are_fields(record: Record):
    names = [field.name for field in record.fields]

    assert len(names) == len(set(names))
    assert set(record.key) <= set(names)


def test_a_column_holds_every_number_of_its_format():
    """numeric(17,2) has 15 digits before the point; -9(18).99 needs 18."""
    types = {field.name: field.sql_type for r in records().values() for field in r.fields}

    assert "numeric(17,2)" == types["clm_pmt_amt"]
    assert "numeric(20,2)" == types["clm_oprtnl_ime_amt"]
    assert "numeric(22,4)" == types["clm_line_srvc_unit_qty"]
    assert "bigint" == types["cur_clm_uniq_id"]
    assert "integer" == types["clm_line_num"]
