"""
Damaged exports: a seeded mutator over every format of `corpus.py`, and over real captures of hosts.

`write_mutants(folder, seed)` writes at least 200 targets, files and folders, and names each by what
was done to it. Whatever reads them must answer with a snapshot or with one clear sentence. The
same mutants serve the readers and the command line; equal seeds give equal bytes.
"""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuzz import corpus

SEED = 20260401
LARGE_BYTES = 100_000_000
_CAPTURES = Path(__file__).parents[1] / "unit/sources/sysstat/captures"
CAPTURES = {
    name: (_CAPTURES / name).read_bytes()
    for name in ("sar-iostat.txt", "saturated-iostat.json", "sar.txt", "sadf.json")
}
"""A real capture of each program and form, by file name."""


@dataclass(frozen=True)
class Mutant:
    """A damaged target and what was done to it."""

    name: str
    path: Path


Damage = Callable[[bytes, random.Random], bytes]


def cut_off(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(1, len(data))]


def flipped(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(max(1, len(out) // 2000)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def junk_inside(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(64) + data[at + 64 :]


def piece_missing(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randrange(1, 400) :]


def piece_twice(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    end = at + rng.randrange(1, 2000)
    return data[:end] + data[at:]


def with_mark(data: bytes, rng: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + data


def as_utf16(data: bytes, rng: random.Random) -> bytes:
    return data.decode("latin-1").encode("utf-16")


def packed_and_cut(data: bytes, rng: random.Random) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return packed[: rng.randrange(3, len(packed))]


def twice(data: bytes, rng: random.Random) -> bytes:
    return data + data


BYTES: tuple[Damage, ...] = (
    cut_off,
    flipped,
    junk_inside,
    piece_missing,
    piece_twice,
    with_mark,
    as_utf16,
    packed_and_cut,
    twice,
)

_NUMBER = re.compile(rb"-?\d+\.\d+")
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|\+00:00)?")
_EPOCH_MS = re.compile(rb"\b16\d{11}\b")


def _some(pattern: re.Pattern[bytes], data: bytes, rng: random.Random, text: bytes) -> bytes:
    """Replace a tenth of the matches, at least one."""
    count = max(1, len(pattern.findall(data)) // 10)
    chosen = {rng.randrange(count * 10) for _ in range(count)} | {0}
    seen = iter(range(10**9))
    return pattern.sub(lambda m: text if next(seen) in chosen else m.group(), data)


def _numbers(text: bytes) -> Damage:
    return lambda data, rng: _some(_NUMBER, data, rng, text)


def _times(text: bytes) -> Damage:
    return lambda data, rng: _some(_EPOCH_MS, _some(_TIME, data, rng, text), rng, b"-1")


def mixed_offsets(data: bytes, rng: random.Random) -> bytes:
    tails = (b"Z", b"+02:00", b".500Z", b"", b"-0530")
    return _TIME.sub(lambda m: m.group()[:19] + rng.choice(tails), data)


def unknown_metric(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"ReadIOPS", b"ReadQoS").replace(b"WriteLatency", b"Wr\xc3\xaftes")


def all_unknown(data: bytes, rng: random.Random) -> bytes:
    for name in corpus.NAMES:
        data = data.replace(name.encode(), b"Foo")
    return data


def foreign_keys(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b'"Values"', b'"Value"').replace(b'"value"', b'"values"')


TEXT: dict[str, Damage] = {
    "nan": _numbers(b"NaN"),
    "infinity": _numbers(b"-Infinity"),
    "negative": _numbers(b"-17.5"),
    "huge": _numbers(b"1e308"),
    "beyond-floats": _numbers(b"1e999"),
    "long-integer": _numbers(b"9" * 5000),
    "null": _numbers(b"null"),
    "text-for-number": _numbers(b'"many"'),
    "object-for-number": _numbers(b'{"a": []}'),
    "year-9999": _times(b"9999-12-31T23:59:59Z"),
    "year-0001": _times(b"0001-01-01T00:00:00Z"),
    "30-february": _times(b"2021-02-30T00:00:00Z"),
    "text-for-time": _times(b"yesterday"),
    "empty-time": _times(b""),
    "mixed-offsets": mixed_offsets,
    "unknown-metric": unknown_metric,
    "all-unknown": all_unknown,
    "foreign-keys": foreign_keys,
}

OF_CAPTURES = ("nan", "negative", "huge", "text-for-number", "year-9999", "text-for-time")
"""Damage to text that a capture of a host can have as well."""


def _gappy(day: corpus.Made, rng: np.random.Generator) -> corpus.Made:
    keep = np.sort(rng.choice(day.time_s.size, day.time_s.size // 3, replace=False))
    return corpus.Made(day.time_s[keep], {n: v[keep] for n, v in day.values.items()})


def _shuffled(day: corpus.Made, rng: np.random.Generator) -> corpus.Made:
    order = rng.permutation(day.time_s.size)
    return corpus.Made(day.time_s[order], {n: v[order] for n, v in day.values.items()})


def _duplicated(day: corpus.Made, rng: np.random.Generator) -> corpus.Made:
    at = np.sort(rng.integers(0, day.time_s.size, day.time_s.size))
    values = {n: v[at] + rng.integers(0, 2, at.size) for n, v in day.values.items()}
    return corpus.Made(day.time_s[at], values)


def _mixed_periods(day: corpus.Made, rng: np.random.Generator) -> corpus.Made:
    half = day.time_s.size // 2
    late = day.time_s[0] + 60 * half + 300 * np.arange(day.time_s.size - half)
    return corpus.Made(np.concatenate([day.time_s[:half], late]), day.values)


def _odd_times(day: corpus.Made, rng: np.random.Generator) -> corpus.Made:
    return corpus.Made(np.sort(day.time_s + rng.integers(-40, 40, day.time_s.size)), day.values)


def _one_sample(day: corpus.Made, rng: np.random.Generator) -> corpus.Made:
    return corpus.Made(day.time_s[:1], {n: v[:1] for n, v in day.values.items()})


def _years_apart(day: corpus.Made, rng: np.random.Generator) -> corpus.Made:
    time_s = day.time_s.copy()
    time_s[-1] += 60 * 365 * 86_400
    return corpus.Made(time_s, day.values)


SAMPLES = {
    "gaps": _gappy,
    "unordered": _shuffled,
    "conflicting-duplicates": _duplicated,
    "mixed-periods": _mixed_periods,
    "odd-times": _odd_times,
    "one-sample": _one_sample,
    "years-apart": _years_apart,
}


def _odd_files() -> dict[str, bytes]:
    """Files that are nothing we know."""
    return {
        "empty.json": b"",
        "spaces.json": b" \n\t\n",
        "zeros.json": bytes(4096),
        "random.json": random.Random(3).randbytes(4096),
        "random.parquet": b"PAR1" + random.Random(4).randbytes(4096) + b"PAR1",
        "random.csv.gz": b"\x1f\x8b" + random.Random(5).randbytes(4096),
        "deep.json": b'{"MetricDataResults":' + b"[" * 200_000,
        "deep-objects.json": b'{"events":' * 100_000,
        "null.json": b"null",
        "number.json": b"17",
        "prose.txt": b"Dear colleague, the metrics are attached, regards.\n",
        "page.html": b"<html><body>AccessDenied</body></html>",
        "error.json": b'{"Error": {"Code": "AccessDenied", "events": 1}}',
    }


def _odd_answers() -> dict[str, bytes]:
    """Answers of CloudWatch that are whole JSON and yet wrong."""
    results = json.loads(corpus.metric_data(corpus.made(20)))["MetricDataResults"]

    def answer(token: str | None = None, **changed: object) -> bytes:
        document = {"MetricDataResults": [r | changed for r in results], "NextToken": token}
        return json.dumps(document).encode()

    return {
        "results-null.json": b'{"MetricDataResults": null}',
        "results-object.json": b'{"MetricDataResults": {"Id": "m1"}}',
        "results-empty.json": b'{"MetricDataResults": []}',
        "uneven.json": answer(Values=[1.0] * 5),
        "forbidden.json": answer(Timestamps=[], Values=[], StatusCode="Forbidden"),
        "partial.json": answer("abc", StatusCode="PartialData"),
        "status-number.json": answer(StatusCode=7),
        "surrogate.json": answer(Label="\ud800 ReadIOPS"),
        "control.json": answer(Label="a\u0000b\nc\u001b[31m"),
        "statistics-object.json": b'{"Label": "ReadIOPS", "Datapoints": {"a": 1}}',
        "statistics-empty.json": b'{"Label": "ReadIOPS", "Datapoints": []}',
        "statistics-bare.json": b'{"Label": null, "Datapoints": [{}, {"Average": 1}]}',
    }


def _odd_records() -> dict[str, bytes]:
    """Streams, documents and descriptions of the wrong types."""
    day = corpus.made(20)
    return {
        "two-instances.jsonl": corpus.stream_lines(day, identifiers=("orders", "claims")),
        "stream-types.jsonl": b'{"metric_name": 1, "value": 2}\n' * 9,
        "stream-empty-value.jsonl": b'{"metric_name": "ReadIOPS", "value": {}, "timestamp": 1}\n',
        "otel-types.json": b'{"resourceMetrics": [{"scopeMetrics": 3}]}',
        "otel-strings.json": b'{"resourceMetrics": ["a"]}',
        "enhanced-types.json": b'{"timestamp": [], "cpuUtilization": 3, "physicalDeviceIO": {}}',
        "events-prose.json": b'{"events": [{"message": "hello"}]}',
        "events-types.json": b'{"events": [1, 2]}',
        "instances-types.json": b'{"DBInstances": [{"DBInstanceIdentifier": 7}]}',
        "instances-only.json": corpus.described(),
    }


def _odd_snapshots() -> dict[str, bytes]:
    """Snapshots of another version, without their parts, or of impossible numbers."""

    def snapshot(**series: object) -> bytes:
        one = {"metric": "read_ops_per_s", "step_s": 60, "value": [1.0], "start_s": 60} | series
        head = {"schema": "plimsoll.snapshot/1.3", "instance": {}, "source": "x"}
        return json.dumps(head | {"series": [one]}).encode()

    return {
        "snapshot-bad.json": b'{"schema": "plimsoll.snapshot/1.3", "series": []}',
        "snapshot-new.json": b'{"schema": "plimsoll.snapshot/9"}',
        "snapshot-huge.json": snapshot(step_s=10**30),
        "snapshot-late.json": snapshot(start_s=10**18),
        "snapshot-negative.json": snapshot(value=[-1.0]),
        "snapshot-disorder.json": snapshot(time_s=[120, 60], value=[1.0, 2.0]),
        "snapshot-cut.json": snapshot()[:-9],
    }


def _odd_tables() -> dict[str, bytes]:
    """Tables that are torn, nameless or endless."""
    first, second = b"2021-03-08T10:14:00Z", b"2021-03-08T10:15:00Z"
    names = b"".join(b"%b,name%d,1\n" % (first, n) for n in range(12_000))
    return {
        "header-only.csv": b"timestamp,ReadIOPS\n",
        "no-header.csv": first + b",5\n" + second + b",6\n",
        "no-time.csv": b"ReadIOPS,WriteIOPS\n1,2\n",
        "ragged.csv": b"time,ReadIOPS,WriteIOPS\n" + first + b",5\n" + second + b",6,7,8\n",
        "open-quote.csv": b'timestamp,ReadIOPS\n"' + first + b",5\n" + second + b",6\n",
        "same-columns.csv": b"timestamp,ReadIOPS,ReadIOPS\n" + first + b",5,6\n",
        "wide-head.csv": b"timestamp," + b"x," * 30_000 + b"\n" + first + b"\n",
        "many-names.csv": b"timestamp,metric,value\n" + names,
        "semicolons.csv": b"time;ReadIOPS\n" + first + b";5,5\n" + second + b";1.006,5\n",
        "bad-unit.csv": b"time,metric,value,unit\n" + first + b",ReadIOPS,5,Parsec\n",
    }


def _json_spill() -> bytes:
    """A hundred megabytes of JSON that is no export."""
    return b"[" + b"0," * ((LARGE_BYTES - 2) // 2) + b"0]"


def _large_answer() -> bytes:
    """A hundred megabytes of a real answer, cut off near its end."""
    day = corpus.made(40_000, names=corpus.NAMES[:4])
    piece = corpus.metric_data(day)
    return (piece * (LARGE_BYTES // len(piece) + 1))[:LARGE_BYTES]


def _large_lines() -> bytes:
    line = b'{"metric_name": "ReadIOPS", "value": {"sum": 1, "count": 1}, "timestamp": "x"}\n'
    return line * (LARGE_BYTES // len(line))


def _mutants(seed: int) -> Iterator[tuple[str, bytes]]:
    rng = random.Random(seed)
    formats = corpus.all_formats()
    for file, data in formats.items():
        for damage in BYTES:
            yield f"{damage.__name__}-{file}", damage(data, rng)
        if not file.endswith((".bin", ".parquet")):
            for name, text_damage in TEXT.items():
                yield f"{name}-{file}", text_damage(data, rng)
    for file, data in CAPTURES.items():
        for damage in BYTES:
            yield f"{damage.__name__}-{file}", damage(data, rng)
        for name in OF_CAPTURES:
            yield f"{name}-{file}", TEXT[name](data, rng)
    for name, change in SAMPLES.items():
        day = change(corpus.made(60, seed=seed % 1000), np.random.default_rng(seed))
        yield f"{name}-metric-data.json", corpus.metric_data(day)
        yield f"{name}-stream.jsonl", corpus.stream_lines(day)
        yield f"{name}-wide.csv", corpus.csv_wide(day)
        yield f"{name}-long.parquet", corpus.parquet(day, long=True)
    for odd in (_odd_files, _odd_answers, _odd_records, _odd_snapshots, _odd_tables):
        yield from odd().items()


def write_mutants(folder: Path, seed: int = SEED, *, with_large: bool = True) -> list[Mutant]:
    """
    Write all mutants below `folder`, each in a folder of its own; at least 200.

    With `with_large`, four of them have 100 MB; one is a sparse file of zeros.
    """
    mutants: list[Mutant] = []

    def add(name: str, data: bytes) -> None:
        path = folder / f"{len(mutants):03d}" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        mutants.append(Mutant(name, path))

    for name, data in _mutants(seed):
        add(name, data)
    if with_large:
        add("large-spill.json", _json_spill())
        add("large-answer.json", _large_answer())
        add("large-lines.jsonl", _large_lines())
        sparse = folder / "large-sparse.csv"
        with sparse.open("wb") as file:
            file.truncate(LARGE_BYTES)
        mutants.append(Mutant("large-sparse.csv", sparse))
    mutants += _folders(folder)
    assert len(mutants) >= 200
    return mutants


def _folders(folder: Path) -> list[Mutant]:
    formats = corpus.all_formats()
    rng = random.Random(1)
    made = {
        "empty-folder": {},
        "only-prose": {"README.md": b"# Metrics\n"},
        "hidden-only": {".metrics.json": formats["metric-data.json"]},
        "every-format": formats,
        "one-broken": {
            "a.json": formats["metric-data.json"],
            "b.json": cut_off(formats["metric-data.json"], rng),
            "c.csv": b"\x00\x01\x02",
        },
        "two-descriptions": {
            "a.json": corpus.metric_data(corpus.made(20)),
            "b.json": corpus.described("orders", "claims"),
        },
        "request-clash": {
            "a.json": corpus.metric_data(corpus.made(20), label=""),
            "b.json": corpus.request(corpus.made(20)),
            "c.json": corpus.request(corpus.made(20), identifier="other"),
        },
    }
    return [Mutant(name, corpus.write(folder / "folders" / name, files)) for name, files in made.items()]
