"""The report of failovers in every form."""

import json

import pytest
from msgspec.structs import replace

import failover_reports
from plimsoll.app.render import render
from plimsoll.model.failover import Fault, Synchronous


def test_the_headline_says_what_was_lost_and_for_how_long():
    """The median of 14.8, 12.6 and 4.2 s is 12.6 s; 95 of 100 are all three."""
    text = render(failover_reports.report(), "text", width=80)

    assert " ".join(text.split()).startswith(
        "0 of 48,115 acknowledged writes were lost in 3 failovers (strict replication); no write was taken for 12.6 s "
        "(median) and 14.8 s (95 %)."
    )


def test_a_loss_is_the_first_thing_that_is_said():
    report = failover_reports.report(lost=7, synchronous=Synchronous.ASYNCHRONOUS)

    assert render(report, "text", width=80).startswith("7 of 48,115 acknowledged writes were lost")
    assert not report.is_kept


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_every_round_is_in_every_form(form):
    """With what was done to the node, and what the pooler did."""
    text = " ".join(render(failover_reports.report(), form, width=200).split())

    for words in ("killed", "cut off from etcd", "handed over", "saw nothing", "node2 standby"):
        assert words in text


def test_the_json_form_has_all_numbers():
    found = json.loads(render(failover_reports.report(refused_there=1), "json"))

    assert "plimsoll.failover/1" == found["schema"]
    assert (0, 1, False) == (found["lost"], found["refused_there"], found["is_kept"])
    assert [fault.value for fault in Fault] == [one["fault"] for one in found["rounds"]]
    assert found["is_healed"]
    assert 13.5 == found["rounds"][0]["pooler"]["primary_found_s"]
    assert {"connection": 4, "no_answer": 1} == found["rounds"][0]["services"]["failed"]


def shown(report, form: str = "text") -> str:
    return " ".join(render(report, form, width=200).split())


def test_what_is_expected_is_judged_line_by_line():
    """The tone and the status follow from it."""
    assert 3 == shown(failover_reports.report()).count("● right")
    assert 0 == shown(failover_reports.report()).count("▲ not right")
    assert 2 == shown(failover_reports.report(lost=1, refused_there=1)).count("▲ not right")


def test_a_cluster_that_does_not_heal_is_said_first_and_with_its_reason():
    """Although nothing was lost; the plan had more faults than were played."""
    report = failover_reports.report(rounds=(failover_reports.UNHEALED,), round_count=3)
    text = shown(report)

    assert "The cluster did not heal by itself." in text.split("Verdict")[0]
    assert "0 of 3: no other node took over from node2 within 180 s" in text
    assert "nobody" in text
    assert "nodes at the end" in text
    assert "no answer" in text
    assert (True, False, False) == (report.is_kept, report.is_healed, report.is_right)


def test_an_interrupted_run_says_so_and_judges_what_was_played():
    report = failover_reports.report(round_count=9)
    text = shown(report)

    assert text.startswith("Interrupted: 0 of ")
    assert "3 of 9: interrupted" in text
    assert "did not heal" not in text
    assert report.is_interrupted


def test_what_the_pooler_and_the_services_did_has_numbers():
    """Median and longest of 9.5, 9.5 and 0 s refused; 5 of 495 business transactions failed, by reason."""
    text = shown(failover_reports.report())

    assert "found the new primary 3 of 3 times" in text
    assert "refused connections 9.5 s 9.5 s 9.5 s" in text
    assert "5: 4 × the connection was lost, or could not be opened; 1 × the client left" in text
    assert "no business transaction was done 15.1 s 15.1 s 15.1 s" in text


def test_without_services_nothing_is_said_of_them():
    rounds = tuple(replace(one, services=None) for one in failover_reports.ROUNDS)
    text = shown(failover_reports.report(rounds=rounds, services=None, fleet=""))

    assert "services" not in text
