"""Answers that are no answers."""

import pytest

from plimsoll.errors import SourceError
from plimsoll.sources.prometheus.answers import Answer, answer_of, labels_of, names_of, reason_of, rows_of
from plimsoll.sources.prometheus.server import PrometheusServer, server_of

DEEP = b"[" * 500_000


def server() -> PrometheusServer:
    return server_of("http://localhost:9090", match=(), headers=(), environment={})


@pytest.mark.parametrize(
    "body", [DEEP, b'{"status":"success","data":' + DEEP, b'{"status":' + DEEP, b'{"status":"\xff"}']
)
def test_an_answer_that_nests_without_end_is_one_sentence(body):
    """Half a million brackets are not JSON that a Prometheus would send, wherever they stand."""
    with pytest.raises(SourceError, match=r"not JSON|another form"):
        names_of(answer_of(body, server(), "application/json"), server())


def test_every_part_of_an_answer_may_nest_without_end():
    """Samples, labels and names are decoded apart from their envelope."""
    import msgspec

    matrix = b'{"resultType":"matrix","result":' + DEEP + b"]" * len(DEEP) + b"}"
    for read, data in ((rows_of, matrix), (rows_of, DEEP), (labels_of, DEEP), (names_of, DEEP)):
        with pytest.raises(SourceError, match="another form"):
            read(Answer(status="success", data=msgspec.Raw(data)), server())


def test_a_refusal_that_nests_without_end_says_what_can_be_shown():
    """A broken reason is cut to a line."""
    assert len(reason_of(DEEP, server())) <= 200
