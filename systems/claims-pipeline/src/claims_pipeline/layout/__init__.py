"""
The record layouts of CCLF files: what each field is called, where it stands and what it holds.

Rule 1: `cclf.toml` beside this file is the only place that knows a layout. The generator, the tables and the formatter
        (by `include_str!`) are made from it.
Rule 2: order matters. Fields stand in a record, in a CSV row and in a table in the same order.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct

FieldType = Literal["text", "date", "amount", "quantity", "integer", "id"]

_SQL_TYPES = {"text": "text", "date": "date", "integer": "integer", "id": "bigint"}
SOURCE_COLUMNS = {"organisation": "text", "file_id": "bigint", "line_number": "bigint"}
"""Columns before the fields, with their types: which file and line a row came from."""


class Field(Struct, frozen=True, kw_only=True):
    """One field of a record."""

    name: str
    """CMS's label, in lower case."""
    start: int
    """Position of the first byte in the record, from 1."""
    width: int
    """Length in bytes."""
    format: str
    """CMS's format, for example `-9(13).99`."""
    type: FieldType

    @property
    def slice(self) -> slice:
        """Return the part of a record that is this field."""
        return slice(self.start - 1, self.start - 1 + self.width)

    @property
    def decimals(self) -> int:
        """Return the digits behind the decimal point."""
        return self.format.partition(".")[2].count("9") or (2 if self.type == "amount" else 0)

    @property
    def sql_type(self) -> str:
        """
        Return the type of the column in PostgreSQL.

        An amount takes numeric(17,2), or more digits if its field is wider than that (sign, digits, point, cents).
        """
        if self.type == "amount":
            return f"numeric({max(17, self.width - 2)},2)"
        if self.type == "quantity":
            return f"numeric({self.width - 2},{self.decimals})"
        return _SQL_TYPES[self.type]


class Record(Struct, frozen=True, kw_only=True):
    """The layout of one kind of file."""

    cclf: int
    """Number of the file in CMS's names: CCLF1 is 1."""
    kind: str
    """Our name of the file, and of the table, for example `part_a_claims`."""
    title: str
    """CMS's name of the file."""
    key: tuple[str, ...]
    """Fields that name a record within an organisation."""
    fields: tuple[Field, ...]

    @property
    def width(self) -> int:
        """Return the bytes of a record without the end of its line."""
        return self.fields[-1].start + self.fields[-1].width - 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of a formatted row, in order."""
        return (*SOURCE_COLUMNS, *(field.name for field in self.fields))

    @property
    def amounts(self) -> tuple[str, ...]:
        """Return the fields whose sums are compared between delivery and table."""
        return tuple(field.name for field in self.fields if field.type == "amount")

    def field(self, name: str) -> Field:
        """Return a field by its name; KeyError if there is none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)


class _Layouts(Struct, frozen=True):
    edition: str
    record: tuple[Record, ...]


@cache
def _read() -> _Layouts:
    text = files("claims_pipeline.layout").joinpath("cclf.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Layouts)


def edition() -> str:
    """Return which of CMS's documents the layouts follow."""
    return _read().edition


def records() -> dict[str, Record]:
    """Return all layouts by kind, in the order of CMS's numbers."""
    return {record.kind: record for record in _read().record}


def record(kind: str) -> Record:
    """Return the layout of a kind; KeyError if there is none."""
    return records()[kind]
