import json
from pathlib import Path

import pytest

from fuzz import corpus
from plimsoll.errors import DataError
from plimsoll.model.metric import BY_CLOUDWATCH_NAME, METRICS, Metric
from plimsoll.sources.export.read import read_export

FIXTURES = Path(__file__).parents[3] / "fixtures" / "exports"
CONNECTIONS = "DatabaseConnections"


def saved(folder: Path, **files: object) -> Path:
    return corpus.write(
        folder / "export", {f"{name}.json": json.dumps(document).encode() for name, document in files.items()}
    )


def result(query_id="m1", label="ReadIOPS", *, count=20, status="Complete", start=0, **fields):
    times = corpus.isos(corpus.START_S + 60 * (start + corpus.np.arange(count)))
    values = [float(start + n) for n in range(count)]
    return {"Id": query_id, "Label": label, "Timestamps": times, "Values": values, "StatusCode": status} | fields


def answer(*results, **fields):
    return {"MetricDataResults": [*results], "Messages": []} | fields


def query(query_id, name, stat="Average", *, namespace="AWS/RDS", volume=None, **fields):
    dimensions = [{"Name": "DBInstanceIdentifier", "Value": "orders"}]
    if volume is not None:
        dimensions.append({"Name": "VolumeName", "Value": volume})
    metric = {"Namespace": namespace, "MetricName": name, "Dimensions": dimensions}
    return {"Id": query_id, "MetricStat": {"Metric": metric, "Stat": stat, "Period": 60} | fields}


@pytest.mark.parametrize("label", ["{name}", "{instance} {name}", "{instance} {name} Average"])
@pytest.mark.parametrize("tail", ["Z", "+00:00", ""])
@pytest.mark.parametrize("newest_first", [True, False])
def test_all_metrics_are_read_by_their_labels(tmp_path, label, tail, newest_first):
    """Labels as people and as the command line write them, in either order, give the same numbers."""
    day = corpus.made(30)
    data = corpus.metric_data(day, label=label, tail=tail, newest_first=newest_first)
    (tmp_path / "a.json").write_bytes(data)
    snapshot = read_export(tmp_path / "a.json")

    assert len(snapshot.series) == len(day.values)
    assert snapshot.gaps == ()
    for name, values in day.values.items():
        series = snapshot.series[BY_CLOUDWATCH_NAME[name]]
        assert series.time_s.tolist() == day.time_s.tolist()
        assert series.value == pytest.approx(values * METRICS[series.metric].scale, rel=1e-12)
        assert series.step_s == 60
    assert snapshot.instance.identifier == ("orders-primary" if "inst" in label else "unnamed")


def test_the_handwritten_answer_with_its_request_and_description():
    """
    The request names what the answer only numbers; the mean is preferred to the maximum; a
    percentage may round above 100; forbidden and partial results are gaps under our names.
    """
    snapshot = read_export(FIXTURES / "answer", identifier="orders-primary")

    assert set(snapshot.series) == {Metric.READ_BYTES_PER_S, Metric.BYTE_BALANCE_RATIO}
    reads = snapshot.series[Metric.READ_BYTES_PER_S]
    assert reads.value.tolist() == [87040000.0, 212500013.7, 212499712.5]
    assert (reads.time_s - reads.time_s[0]).tolist() == [0, 60, 180]
    assert reads.step_s == 60
    assert snapshot.series[Metric.BYTE_BALANCE_RATIO].value.tolist() == [1.0, 0.125]
    gaps = {g.metric: g for g in snapshot.gaps}
    assert set(gaps) == {"byte_balance_ratio", "write_ops_per_s"}
    assert gaps["byte_balance_ratio"].reason == "partial data"
    assert gaps["write_ops_per_s"].reason == "access denied: not authorized"
    assert "cloudwatch:GetMetricData" in gaps["write_ops_per_s"].remedy


def test_a_request_is_found_in_the_same_document_beside_it_or_above(tmp_path):
    """With the answer, as a bare list, and for the folders below it."""
    given = [query("m1", "WriteIOPS")]
    one = saved(tmp_path / "one", both=answer(result(label="x")) | {"MetricDataQueries": given})
    two = saved(tmp_path / "two", a=answer(result(label="x")), b=given)
    three = saved(tmp_path / "three", request=given)
    saved(three / "monday", a=answer(result(label="x")))

    for folder in (one, two, three):
        snapshot = read_export(folder)
        assert set(snapshot.series) == {Metric.WRITE_OPS_PER_S}
        assert snapshot.instance.identifier == "orders"


READS, WRITES, CPU = Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S, Metric.CPU_RATIO
TWO = answer(result("m1", "x"), result("m2", "ReadIOPS"))
REMARK = {"Code": "MaxMetricsExceeded", "Value": "100 metrics"}
PERCENTILES = ("percentile", ["p99", "tm90"])
NO_MEAN = "the export has only the statistic {}, which does not show the mean"


@pytest.mark.parametrize(
    ("documents", "metrics", "reasons"),
    [
        pytest.param(
            [TWO, [query("m1", "WriteIOPS")], [query("m1", "ReadLatency")]],
            *({READS}, ["two requests use its Id for different metrics, ignored"]),
            id="where two requests disagree about an Id, the answer is not guessed",
        ),
        ([answer(result("m_readiops", ""), result("cpu_utilization", "CPU!"))], {READS, CPU}, []),
        ([answer(result(), NextToken="abc")], *({READS}, ["the answer has a NextToken, so it is not the last page"])),
        (
            [answer(result(status="InternalError"), Messages=[REMARK])],
            {READS},
            ["CloudWatch added the message: 100 metrics", "CloudWatch answered InternalError"],
        ),
        *(
            ([TWO, [query("m1", "WriteIOPS", stat)]], {READS}, [NO_MEAN.format(called)])
            for called, stats in (("Sum", ["Sum"]), ("SampleCount", ["SampleCount"]), PERCENTILES)
            for stat in stats
        ),
        (
            [TWO, [query("m1", "BurstBalance", namespace="AWS/EBS")]],
            *({READS}, ["metric of the EC2 or EBS namespace, ignored"]),
        ),
        (
            [TWO, [query("m1", "WriteIOPS", volume="rdsdb2")]],
            *({READS}, ["metric of a log or additional volume, ignored"]),
        ),
    ],
)
def test_what_is_not_taken_is_a_gap(tmp_path, documents, metrics, reasons):
    """Ids, pages, remarks, statistics, namespaces and volumes: what could be meant otherwise is said."""
    snapshot = read_export(saved(tmp_path, **dict(zip("abc", documents, strict=False))))

    assert set(snapshot.series) == metrics
    assert [g.reason for g in snapshot.gaps] == reasons


def test_pages_make_one_series(tmp_path):
    """PartialData on a page is mended by the last page of the same query."""
    folder = saved(
        tmp_path, page1=answer(result(count=10, status="PartialData", start=10)), page2=answer(result(count=10))
    )
    snapshot = read_export(folder)

    assert snapshot.series[Metric.READ_OPS_PER_S].value.tolist() == list(range(20))
    assert snapshot.gaps == ()


def test_pages_may_follow_each_other_in_one_file(tmp_path):
    pages = [answer(result(count=10)), answer(result(count=10, start=10))]
    for name, text in (
        ("rows.json", "\n".join(json.dumps(p) for p in pages)),
        ("pretty.json", "\n".join(json.dumps(p, indent=2) for p in pages)),
        ("list.json", json.dumps(pages)),
    ):
        (tmp_path / name).write_text(text)

        assert read_export(tmp_path / name).series[Metric.READ_OPS_PER_S].time_s.size == 20


def test_everything_forbidden_is_unknown_not_an_error(tmp_path):
    """An export that was refused in full still says what permission is missing."""
    denied = result(count=0, status="Forbidden")
    snapshot = read_export(saved(tmp_path, a=answer(denied)))

    assert snapshot.series == {}
    assert snapshot.window_s is None
    assert snapshot.gaps[0].metric == "read_ops_per_s"
    assert snapshot.gaps[0].remedy == "Allow cloudwatch:GetMetricData for the role that exports."


def test_simulated_exports_say_so(tmp_path):
    """The mark of our simulator makes the snapshot simulated and gives its note."""
    mark = {"Code": "Simulated", "Value": "Reconstructed from the published figures."}
    snapshot = read_export(saved(tmp_path, a=answer(result(), Messages=[mark])))

    assert snapshot.is_simulated
    assert snapshot.note == "Reconstructed from the published figures."
    assert snapshot.gaps == ()


def with_statistics(folder: Path, of: str = "WriteIOPS", **values: float) -> Path:
    """One metric, each statistic of which has a value of its own."""
    results = [result(f"m{n}", "x", Values=[v] * 20) for n, v in enumerate(values.values())]
    queries = [query(f"m{n}", of, stat) for n, stat in enumerate(values)]
    return saved(folder, a=answer(*results), b=queries)


ALONE = "the export has only the statistic {}, which is used as the mean"


@pytest.mark.parametrize(
    ("of", "values", "expected", "reasons"),
    [
        # A sum or a maximum never passes for a mean; sum ÷ count is one.
        ("WriteIOPS", {"Maximum": 9, "Average": 5, "Sum": 50, "SampleCount": 5}, 5, []),
        ("WriteIOPS", {"Sum": 50, "SampleCount": 5, "Maximum": 12}, 10, []),
        # The most connections of a minute tell what max_connections is compared with.
        (CONNECTIONS, {"Maximum": 9, "Minimum": 1, "Sum": 50}, 9, [ALONE.format("Maximum")]),
        (CONNECTIONS, {"Minimum": 1, "p99": 8}, 1, [ALONE.format("Minimum")]),
        # For a balance the minimum tells whether credits ran out.
        ("BurstBalance", {"Minimum": 1, "Maximum": 90}, 0.01, [ALONE.format("Minimum")]),
    ],
)
def test_of_several_statistics_the_mean_is_taken(tmp_path, of, values, expected, reasons):
    """An extreme alone is used where it says something, and that is said."""
    snapshot = read_export(with_statistics(tmp_path, of=of, **values))

    assert snapshot.series[BY_CLOUDWATCH_NAME[of]].value.tolist() == [expected] * 20
    assert [g.reason for g in snapshot.gaps] == reasons


def test_the_unit_of_a_request_is_honoured(tmp_path):
    asked = [query("m1", "WriteThroughput", Unit="Megabytes/Second")]
    snapshot = read_export(saved(tmp_path, a=answer(result("m1", "x")), b=asked))

    assert snapshot.series[Metric.WRITE_BYTES_PER_S].value[1] == 1e6


@pytest.mark.parametrize("of", ["ReadThroughput", "WriteIOPS", "ReadLatency", "DiskQueueDepth"])
@pytest.mark.parametrize("statistic", ["Maximum", "Minimum"])
def test_the_largest_second_says_nothing_of_a_rate(tmp_path, of, statistic):
    """A burst of a second makes a Maximum of three times the ceiling in a minute that was far from it."""
    with pytest.raises(DataError, match=f"the export has only the statistic {statistic}, which does"):
        read_export(with_statistics(tmp_path, of=of, **{statistic: 9}))


def test_statistics_are_read_in_their_unit_and_in_order():
    snapshot = read_export(FIXTURES / "statistics")
    latency = snapshot.series[Metric.READ_LATENCY_S]
    written = snapshot.series[Metric.WRITE_BYTES_PER_S]

    assert latency.value.tolist() == pytest.approx([0.00125, 0.0025, 0.0065])
    assert latency.step_s == 300
    assert written.value.tolist() == [50e6, 120e6]
    assert snapshot.gaps == ()
