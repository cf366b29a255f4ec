"""What is printed after each round of failovers."""

import failover_reports
from plimsoll_lab.judges.failover import words_of


def test_a_round_is_said_in_a_line():
    text = words_of(failover_reports.ROUND)

    assert text.startswith("node2 was killed, node1 took over; no write for 14.8 s, healed 18.0 s ")
    assert text.endswith("15,878 writes acknowledged, 16 with an unknown outcome")


def test_a_cluster_that_did_not_heal_is_said_with_its_reason():
    text = words_of(failover_reports.UNHEALED)

    assert "nobody took over" in text
    assert text.endswith("NOT HEALED: no other node took over from node2 within 180 s")
