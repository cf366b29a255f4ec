"""What the outcome of a write is, and how times without writes are found."""

import psycopg
import pytest

from plimsoll_lab.experiments.failover.checker import is_refusal, longest_gap_s
from plimsoll_lab.experiments.failover.database import message_of
from plimsoll_lab.model.failover import nearest_rank


class Answered(psycopg.Error):
    """An error with the fields of a server's answer."""

    def __init__(self, severity: str | None, text: str) -> None:
        super().__init__(text)
        self._diag = type("Fields", (), {"severity_nonlocalized": severity, "message_primary": None})()

    @property
    def diag(self):
        return self._diag


@pytest.mark.parametrize(("severity", "expected"), [("ERROR", True), ("FATAL", False), ("PANIC", False), (None, False)])
def test_only_an_error_of_a_session_that_goes_on_is_a_refusal(severity, expected):
    """A session that ends may have committed before."""
    assert expected == is_refusal(Answered(severity, "no"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("server closed the connection unexpectedly\n\tThis probably", "server closed the connection unexpectedly"),
        (
            'connection failed: connection to server at "127.0.0.1", port 9 failed: FATAL:  the system is starting up',
            "the system is starting up",
        ),
        ("", "Answered"),
    ],
)  # fmt: skip
def test_messages_are_counted_without_addresses(text, expected):
    assert expected == message_of(Answered(None, text))


def test_the_longest_gap_includes_both_ends():
    """Without a write, all of the time is a gap."""
    assert 3.0 == longest_gap_s([1.0, 4.0, 4.5], 0.5, 5.0)
    assert 2.5 == longest_gap_s([1.0, 2.0], 0.0, 4.5)
    assert 5.0 == longest_gap_s([], 0.0, 5.0)


def test_a_nearest_rank_is_one_of_the_values():
    values = [4.0, 1.0, 3.0, 2.0]

    assert (2.0, 4.0, 4.0) == tuple(nearest_rank(values, share) for share in (0.5, 0.95, 1.0))
    assert nearest_rank([], 0.5) is None
