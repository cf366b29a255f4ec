"""Answers of Prometheus that were kept in a file."""

import pytest

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
