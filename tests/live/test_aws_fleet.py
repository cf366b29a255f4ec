"""Fifty instances of one account: all are diagnosed, and what fails half-way costs only the rest."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.aws import proxy, simulated
from fixtures.aws.commands import Outcome, between, plimsoll
from fixtures.aws.double import Double
from fixtures.aws.holdings import Held, described, hold, write
from fixtures.aws.proxy import Rule

COUNT = 50
HOUR_S = 3600
END_S = simulated.recent_end_s()
WINDOW = (END_S - 24 * HOUR_S, END_S)
METRICS, INSTANCES = "cloudwatch:GetMetricData", "rds:DescribeDBInstances"
STOPPED = "a-stopped-one"
"""The first by name, so that all others come after it."""
FLEET = ("diagnose", "rds:*", "--format", "json", *between(WINDOW))


@pytest.fixture(scope="module")
def holdings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty simulated instances with a day of minutes each, and one that did not run."""
    folder = tmp_path_factory.mktemp("fleet")
    fleet = simulated.fleet(COUNT, END_S, hours=24)
    fields = described(fleet[0].instance) | {"DBInstanceIdentifier": STOPPED}
    stopped = Held(identifier=STOPPED, described=fields | {"DBInstanceStatus": "stopped"})
    return write(folder, [stopped, *(hold(folder, snapshot) for snapshot in fleet)])


@pytest.fixture(scope="module")
def double(holdings: Path) -> Iterator[Double]:
    """The account that holds them."""
    with Double(holdings) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(double: Double) -> Outcome:
    """All of them diagnosed while nothing fails."""
    return plimsoll(double.port, *FLEET)


def overview(outcome: Outcome) -> dict[str, Any]:
    """The one JSON document on standard output."""
    assert outcome.stdout, outcome.shown()
    return json.loads(outcome.stdout)


def by_action(usage: dict[str, Any]) -> dict[str, int]:
    """Requests as the command counted them."""
    return {call["action"]: call["count"] for call in usage["calls"]}


def test_all_of_an_account_are_diagnosed(undisturbed: Outcome):
    """Fifty rows, the pressed ones before the quiet ones, each with the ceiling its story has."""
    found = overview(undisturbed)
    by_story: dict[str, set[tuple[str, str | None]]] = {}
    for row in found["rows"]:
        family = row["binding"] and row["binding"]["family"]
        by_story.setdefault(row["identifier"][13:], set()).add((row["verdict"], family))
    verdicts = [row["verdict"] for row in found["rows"]]

    assert (1, COUNT) == (undisturbed.status, len(found["rows"]))
    assert ("binds", "instance_ebs_throughput") in by_story["search-service"]
    assert {"binds"} == {verdict for verdict, _ in by_story["claims-pipeline"]}
    assert {("slack", None)} == by_story["quiet"]
    assert sorted(verdicts, key=["binds", "near", "unknown", "slack"].index) == verdicts
    assert found["stopped"] is None


def test_one_that_cannot_be_read_does_not_cost_the_others(undisturbed: Outcome):
    """An instance without samples is named with its status, and everything after it is diagnosed."""
    (unread,) = overview(undisturbed)["unread"]

    assert STOPPED == unread["identifier"]
    assert "its status is 'stopped'" in unread["reason"]


def test_the_requests_of_a_fleet_are_those_computed_and_reported(undisturbed: Outcome):
    """Counted by the proxy, told by the command, foretold by arithmetic: one number."""
    found = overview(undisturbed)["usage"]

    assert undisturbed.counts == by_action(found)
    assert sum(undisturbed.counts.values()) == found["call_count"]


def test_a_pattern_names_some_of_them(double: Double):
    """`rds:*-quiet` reads the quiet ones and asks for the metrics of no other; nothing binds."""
    found = plimsoll(double.port, "diagnose", "rds:*-QUIET", "--format", "json", *between(WINDOW))
    names = [row["identifier"] for row in overview(found)["rows"]]

    assert 0 == found.status, found.shown()
    assert [f"simulated-{n:02d}-quiet" for n in range(1, COUNT, 3)] == sorted(names)
    assert len(names) == found.counts["rds:DescribeEvents"]


def test_throttling_now_and_then_costs_nobody(double: Double, undisturbed: Outcome):
    """Every third answer a 400 Throttling: all are diagnosed, alike, and the repeats are counted."""
    rules = [Rule(fault=proxy.throttled, action=METRICS, skip=3 * n, times=1) for n in range(4)]
    found = plimsoll(double.port, *FLEET, rules=rules)

    assert overview(undisturbed)["rows"] == overview(found)["rows"]
    assert sum(undisturbed.counts.values()) < sum(found.counts.values())
    assert found.counts == by_action(overview(found)["usage"])


def test_a_server_that_dies_half_way_costs_only_what_was_not_read(holdings: Path):
    """What was read is shown, what was not is named with the cause, and the status says so."""
    with Double(holdings) as mortal:
        die = proxy.ends(mortal.kill)
        found = plimsoll(mortal.port, *FLEET, rules=[Rule(fault=die, action=METRICS, skip=8, times=1)])
    document = overview(found)
    read = {row["identifier"] for row in document["rows"]}
    unread = {row["identifier"]: row for row in document["unread"]}

    assert found.status in {1, 2}, found.shown()
    assert 0 < len(read) < COUNT
    assert not read & unread.keys()
    assert COUNT + 1 == len(read) + len(unread)
    assert all("127.0.0.1" in row["reason"] for identifier, row in unread.items() if identifier != STOPPED)
    assert "Traceback" not in found.stderr


def test_metrics_that_nobody_may_read_leave_no_instance(double: Double):
    """Every instance is named with the permission that is missing; the rest is not asked for in vain."""
    found = plimsoll(double.port, *FLEET, rules=[Rule(fault=proxy.denied, action=METRICS)])

    assert 2 == found.status, found.shown()
    unread = overview(found)["unread"]
    assert COUNT + 1 == len(unread)
    assert {f"access denied to {METRICS}"} == {row["reason"] for row in unread}
    assert 1 == found.counts[METRICS]


@pytest.mark.parametrize("fault", [proxy.throttled, proxy.broken], ids=["throttled", "broken"])
def test_trouble_with_metrics_is_answered_with_less(fault: proxy.Fault, double: Double):
    """Nothing smaller is asked for: one call of four attempts, or three."""
    found = plimsoll(double.port, *FLEET, rules=[Rule(fault=fault, action=METRICS)])

    assert 2 == found.status, found.shown()
    assert found.counts[METRICS] <= 12
    assert COUNT + 1 == len(overview(found)["unread"])


@pytest.mark.parametrize("hours", [3, 72])
def test_throttling_costs_few_requests_whatever_the_window(hours: int, double: Double):
    """
    Always throttled, three hours and three days alike: four requests a call that was under way, not one
    for every smaller part of the window.
    """
    found = plimsoll(
        double.port,
        *("diagnose", "rds:*", "--format", "json"),
        *between((END_S - hours * HOUR_S, END_S)),
        rules=[Rule(fault=proxy.throttled, action=METRICS)],
    )

    assert 2 == found.status, found.shown()
    assert 1 <= found.counts[METRICS] <= 12
    assert COUNT + 1 == len(overview(found)["unread"])


def test_what_was_refused_is_said_once_and_asked_for_once(double: Double):
    """Events are refused: one request, one line with the permission, and the verdicts as before."""
    rules = [Rule(fault=proxy.denied, action="rds:DescribeEvents")]
    found = plimsoll(double.port, *FLEET, rules=rules)
    (failed,) = overview(found)["failed"]

    assert 1 == found.counts["rds:DescribeEvents"]
    assert "access denied to rds:DescribeEvents" in failed["reason"]
    assert "Allow rds:DescribeEvents" in failed["remedy"]
    assert COUNT == len(failed["identifiers"])


def test_a_fleet_too_large_for_the_bound_is_refused_before_it_is_read(double: Double, undisturbed: Outcome):
    """The sentence says how many requests it would take; only the list of instances was asked for."""
    found = plimsoll(double.port, *FLEET, "--max-api-calls", "30")

    assert (2, "") == (found.status, found.stdout)
    assert {INSTANCES: 1} == found.counts
    assert f"reading {COUNT + 1} instances needs {sum(undisturbed.counts.values())} requests" in found.errors[0]


def test_an_endless_list_of_instances_is_not_followed_for_ever(double: Double):
    """Pages that always name a next one end in a sentence."""
    found = plimsoll(
        double.port,
        *("diagnose", "rds:*", "--max-api-calls", "12", *between(WINDOW)),
        rules=[Rule(fault=proxy.endless, action=INSTANCES)],
    )

    assert (2, "", 1) == (found.status, found.stdout, len(found.errors)), found.shown()
    assert found.counts[INSTANCES] <= 12
