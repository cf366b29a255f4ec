"""Answers of Prometheus that were kept in a file."""

import pytest

from plimsoll.errors import DataError
from plimsoll.model.metric import Metric
from plimsoll.sources.export.read import read_export

RESULT = '{"status":"success","data":{"resultType":"%s","result":[%s]}}'
ROW = (
    '{"metric":{"__name__":"aws_rds_read_iops_average","dimension_DBInstanceIdentifier":"orders",'
    '"job":"yace"},"values":[[1795176000,"10"],[1795176060,"11"],[1795176120,"NaN"]]}'
)


@pytest.mark.parametrize("other", ["", ',{"metric":{"job":"x"},"values":[[1795176000,"1"]]}'])
def test_the_answer_of_a_range_query_is_read(other, tmp_path):
    """As curl keeps it; the answer to `rate(…)` does not say what it measures and is a gap."""
    file = tmp_path / "answer.json"
    file.write_text(RESULT % ("matrix", ROW + other))
    snapshot = read_export(file)

    assert "orders" == snapshot.instance.identifier
    assert [10.0, 11.0] == snapshot.series[Metric.READ_OPS_PER_S].value.tolist()
    assert bool(other) is ("1 series of 'answer.json'" in {g.metric for g in snapshot.gaps})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RESULT % ("vector", ""), "has values at a single time (vector)"),
        ('{"status":"error","errorType":"bad_data","error":"no"}', "has an error of Prometheus"),
        (RESULT % ("matrix", "7"), "is not the answer to a range query"),
    ],
)
def test_another_answer_of_prometheus_is_said(text, expected, tmp_path):
    """In one sentence with what to ask for instead."""
    file = tmp_path / "answer.json"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_export(file)

    assert expected in caught.value.message
    assert caught.value.hint.endswith(".")
