"""The formatter as a program, and a plain one to compare it with."""

import csv
import io
import json
import os
import subprocess
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from claims_pipeline.layout import Field, Record


class Formatted(NamedTuple):
    """What became of a file. NULL is None, which `csv` cannot tell from an empty text."""

    rows: list[list[str]]
    quarantine: list[list[str]]
    summary: dict


def program() -> str:
    return str(Path(os.environ["CLAIMS_PROGRAMS"]) / "claims-format")


def run(record: Record, raw: bytes, folder: Path, *more: str) -> subprocess.CompletedProcess[bytes]:
    words = ["--kind", record.kind, "--organisation", "A1001", "--file", "P.TEST", "--file-id", "7"]
    places = ["--quarantine", folder / "quarantine.csv", "--summary", folder / "summary.json"]
    return subprocess.run([program(), *words, *places, *more], input=raw, capture_output=True, timeout=300, check=False)


def formatted(record: Record, raw: bytes, folder: Path) -> Formatted:
    done = run(record, raw, folder)
    assert 0 == done.returncode, done.stderr.decode()
    return Formatted(
        list(csv.reader(io.StringIO(done.stdout.decode(), newline=""))),
        list(csv.reader(io.StringIO((folder / "quarantine.csv").read_text(), newline=""))),
        json.loads((folder / "summary.json").read_text()),
    )


def plainly(record: Record, raw: bytes) -> tuple[list[list[str]], list[tuple[int, str]], dict]:
    """Rows, line numbers with classes of faults, and sums, by the slowest and plainest means."""
    rows, faults = [], []
    sums = dict.fromkeys(record.amounts, Decimal("0.00"))
    lines = raw.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, ended in enumerate(lines, 1):
        line = ended.removesuffix(b"\r")
        if len(line) != record.width:
            short = len(line) < record.width
            faults.append((number, "truncated record" if short else "long record"))
            continue
        values = []
        for field in record.fields:
            value, fault = _value(field, line[field.slice].strip(b" "), field.name in record.key)
            if fault:
                faults.append((number, fault))
                break
            values.append(value)
        else:
            rows.append(["A1001", "7", str(number), *values])
            for field, value in zip(record.fields, values, strict=True):
                if field.type == "amount" and value:
                    sums[field.name] += Decimal(value)
    return rows, faults, {name: f"{total:.2f}" for name, total in sums.items()}


def _value(field: Field, raw: bytes, is_key: bool) -> tuple[str, str]:
    if not raw:
        return "", "missing key" if is_key else ""
    if field.type == "date":
        return _date(raw)
    if field.type == "text":
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return "", "not UTF-8"
        control = any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)
        return text, "control character" if control else ""
    return (raw.decode(), "") if _is_number(field, raw) else ("", "bad number")


def _date(raw: bytes) -> tuple[str, str]:
    try:
        text = raw.decode("ascii")
        day = date.fromisoformat(text)
    except ValueError:
        return "", "bad date"
    if day.isoformat() != text:  # 20230115 and 2023-W03-1 are dates to Python
        return "", "bad date"
    return ("" if text in ("1000-01-01", "9999-12-31") else text), ""


def _is_number(field: Field, raw: bytes) -> bool:
    digits = raw[1:] if raw[:1] in (b"-", b"+") else raw
    whole, point, fraction = digits.partition(b".")
    if not (whole + fraction).isdigit() or len(fraction) > field.decimals:
        return False
    if field.type in ("integer", "id"):
        limit = 2**31 if field.type == "integer" else 2**63
        return not point and -limit <= int(raw) < limit
    size = int(field.sql_type.partition("(")[2].partition(",")[0]) - field.decimals
    return len(whole.lstrip(b"0")) <= size
