"""What is no file of its format is refused in one sentence that names the file, whatever reads it."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll.errors import DataError
from plimsoll.sources.explain.file import read_captures
from plimsoll.sources.explain.statements import statements_in
from plimsoll.sources.export.read import read_export
from plimsoll.sources.files.bytes import load
from plimsoll.sources.infrastructure.cloudformation import read_cloudformation
from plimsoll.sources.infrastructure.terraform import read_terraform
from plimsoll.sources.own_events.read import read_own_events
from plimsoll.sources.targets.one import read

PACKED = gzip.compress(b'{"Label": "ReadIOPS"}' * 50)
QUOTED = b"time,ReadIOPS,WriteIOPS\n1615198440,5,"
RANGE = '{"status":"success","data":{"resultType":"%s","result":[%s]}}'
YEARS = "time,ReadIOPS\n946684801,1\n4102444799,1\n" + "".join(f"{1615198440 + n},1\n" for n in range(9))


def stored(series: str) -> str:
    """A snapshot with one series."""
    return f'{{"schema":"plimsoll.snapshot/1","instance":{{}},"source":"x","series":[{{{series}}}]}}'


READS = '"metric":"read_ops_per_s","step_s":60'
# A file name, who reads it, and texts with a part of the sentence that refuses each.
REFUSED: dict[str, tuple[Callable[[Path], object], list[tuple[str | bytes, str]]]] = {
    "plan.json": (
        read_terraform,
        [
            (b"PK\x03\x04rest", "binary form"),
            ('resource "aws_db_instance" "a" {}', "is not JSON"),
            ("", "is not JSON"),
            ('{"serial": 1, "lineage": "a", "version": 4}', "is a Terraform state file"),
            ("[]", "is not a Terraform plan"),
            ('{"format_version": "9.0"}', "format version 9.0"),
            ('{"format_version": "1.2", "resource_changes": 1}', "has no list of changes"),
            ('{"format_version": "1.2", "resource_changes": [1]}', "change 1"),
            ('{"@level":"info","@message":"x"}\n{"a":1}', "is the log of"),
            ('{"format_version": "1.2", ', "plan.json"),
        ],
    ),
    "template.yaml": (
        read_cloudformation,
        [
            ("a: [", "is not YAML at line 1"),
            ("Resources: 1", "has no resources"),
            ("", "has no resources"),
            ("- a\n", "has no resources"),
            ('{"Resources": ', "template.yaml"),
            ("Resources:\n  a: &x {}\n  b: *x\n", "line 3"),
            (b"\xff\xfe\xfa\x00", "template.yaml"),
            (b"a: \xff", "is not text"),
            ("[" * 5000, "nested too deeply"),
            ("x" * (1 << 20) + "y", "larger than any template"),
        ],
    ),
    "events.csv": (
        read_own_events,
        [
            ("", "contains no event"),
            ("start,name\n", "contains no event"),
            ("began,name\n1,a\n", "line 1: there is no column 'start'"),
            ("start,name\n2023-02-14T01:30:00Z,a\nyesterday,b\n", "line 3: the start 'yesterday' is no time"),
            ("start,name\n2023-02-14 02:30,a\n", "line 2: the start 2023-02-14 02:30 has no time zone"),
            ("start,name\n1970-01-01T00:00:00Z,a\n", "line 2: the start"),
            ("start,name\n,a\n", "line 2: it has no start"),
            ("start,name\n2023-02-14T01:30:00Z,\n", "line 2: it has no name"),
            ("start,name\n2023-02-14T01:30:00Z,a,b\n", "line 2: it has 3 fields"),
            (
                "start,end,name\n2023-02-14T01:30:00Z,2023-02-14T01:29:00Z,a\n",
                "line 2: the end 2023-02-14T01:29:00Z is before the start",
            ),
            ('[{"start": 1676338200, "name": "a"}, 7]', "record 2: it is no JSON object"),
            ('{"start": 1676338200, "name": "a"}\n{"start"', "line 2: it is no JSON object"),
            ("[" * 100_000, "nested too deeply"),
            (b"start,name\n\xff\xfe\xfd,a\n", "UTF-8"),
        ],
    ),
    "table.csv": (
        read_export,
        [
            ("timestamp,ReadIOPS\n", "it has no row; Use columns timestamp, metric, value"),
            ("ReadIOPS,WriteIOPS\n1,2\n", "no column of times"),
            ("timestamp\n2021-03-08T10:14:00Z\n", "no delimiter"),
            ("2021-03-08T10:14:00Z,5\n", "no line of column names"),
            ("timestamp,metric\n2021-03-08T10:14:00Z,ReadIOPS\n", "no column of values"),
            ("timestamp,ReadIOPS\nnever,5\n", "no cell of column 'timestamp' is a time"),
            ("time" + ",x" * 3000 + "\n1\n", "3,001 columns"),
            ("time,Apples,Pears\n1615198440,1,2\n", "'Apples', 'Pears'"),
            (YEARS, "too far apart"),
            # Quotes that do not end.
            (QUOTED + b'"open\n1615198500,7,8\n', "is not a readable table"),
            (QUOTED + b'"a"b\n', "is not a readable table"),
            (QUOTED + b'"' + b"x" * 6_000_000, "does not end"),
        ],
    ),
    "answer.json": (
        read_export,
        [
            ('{"MetricDataResults": 3}', "MetricDataResults"),
            ('{"MetricDataResults": [{"Timestamps": "x"}]}', "Timestamps"),
            ('{"Datapoints": {}}', "Datapoints"),
            ('[{"Id": 1, "MetricStat": {}}]', "$[0]"),
            ('{"resourceMetrics": 3}', "another structure"),
            ('{"resourceMetrics": [{"scopeMetrics": [7]}]}', "another structure"),
            ('{"events": [{"message": "LOG: checkpoint starting"}]}', "no document of Enhanced Monitoring"),
            # Answers of Prometheus that were kept.
            (RANGE % ("vector", ""), "has values at a single time (vector)"),
            ('{"status":"error","errorType":"bad_data","error":"no"}', "has an error of Prometheus"),
            (RANGE % ("matrix", "7"), "is not the answer to a range query"),
            # What the AWS command line prints for people.
            (
                "METRICDATARESULTS\tm1\tReadIOPS\tComplete\nTIMESTAMPS\t2026-11-20T10:00:00+00:00\n",
                "was printed by the AWS command line with --output text",
            ),
            (
                "ReadIOPS\nDATAPOINTS\t12.0\t2026-11-20T10:00:00Z\tCount/Second\n",
                "text; Run the same command again with --output json",
            ),
            ("------------------\n|  GetMetricData  |\n+----------------+\n", "with --output table"),
            ("MetricDataResults:\n- Id: m1\n", "with --output yaml"),
        ],
    ),
    "plans.txt": (
        read_captures,
        [
            ("", "contains no plan"),
            ("just a log line\n", "contains no plan"),
            ('{"schema": "plimsoll.explain/99"}', "explain/99"),
            ('{"schema": "plimsoll.explain/1"}', "not what its form says"),
            ('{"some": "json"}', "contains no plan"),
            ("LOG:  duration: 1.0 ms  plan:\n\tnothing\n", "can be read"),
        ],
    ),
    "statements.sql": (statements_in, [("-- nothing;\n", "no statement")]),
    "snapshot.json": (
        read,
        [
            (stored(f'{READS},"start_s":60,"value":[-1]'), "impossible"),
            (stored(f'{READS},"start_s":60,"value":[1e300]'), "impossible"),
            (stored(f'{READS},"start_s":1e300,"value":[1]'), "Expected `int"),
            (stored(f'{READS},"time_s":[99999999999],"value":[1]'), "impossible"),
            (stored('"metric":"read_ops_per_s","step_s":1,"time_s":[1,20000001],"value":[1,1]'), "too far"),
            (stored('"metric":"read_qos","step_s":60,"start_s":60,"value":[1]'), "read_qos"),
        ],
    ),
    "bytes": (load, [*((PACKED[:cut], "not a whole gzip file") for cut in (3, 15, -4)), (b"\xff\xfea", "UTF-16")]),
}


@pytest.mark.parametrize(
    ("name", "row"), [(name, row) for name, (_, rows) in REFUSED.items() for row in range(len(rows))]
)
def test_what_is_no_file_of_its_format_is_refused(tmp_path: Path, name: str, row: int):
    """The cause names the file, and the place if there is one; the hint says what to give instead."""
    reads, rows = REFUSED[name]
    content, cause = rows[row]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(DataError) as refused:
        reads(path)

    assert cause in f"{refused.value.message}; {refused.value.hint}"
    assert name in refused.value.message
    assert "\n" not in refused.value.message
    assert refused.value.hint.endswith((".", "'"))
