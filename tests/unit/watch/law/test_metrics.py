"""Samples of the watch: what is unknown has none, and every name is a row of the guide."""

import re

import pytest
from msgspec.structs import replace

import watched
from contract.tree import ROOT
from plimsoll.model.diagnosis import Verdict
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.metrics import (
    METRIC_TABLE,
    POLLS,
    InstanceStatus,
    OwnerStatus,
    ProcessStatus,
    samples_of,
    target_label,
)
from plimsoll.watch.law.reading import CeilingNumbers, InstanceNumbers

NOW_S, STEADY_S = 1_700_000_000.0, 5_000.0
PLACE = ("shop", "eu-central-1", "orders")
CEILING = "instance_ebs_throughput"
BYTES = CeilingNumbers(
    ceiling=CEILING,
    unit="bytes/s",
    limits=(("baseline", 100e6), ("burst", 300e6)),
    served=80e6,
    sustained=100e6,
    balance_ratio=0.25,
    empty_in_s=600.0,
    state=WatchState.NEARING,
)
NUMBERS = InstanceNumbers(
    at_s=int(NOW_S) - 120,
    verdict=Verdict.NEAR,
    facts=(("instance_class", "db.r5.large"), ("storage_type", "gp2"), ("engine", "postgres"), ("simulated", "true")),
    catalog_s=1_690_000_000,
    ceilings=(BYTES,),
)
BOUND = Standing(subject=watched.SUBJECT, state=WatchState.BOUND, since_s=1_699_990_000, number=1)
STATUS = InstanceStatus(
    instance=watched.INSTANCE, standings=(BOUND,), numbers=NUMBERS, fresh_until_s=STEADY_S + 1, interval_s=60.0
)
SPARE = ProcessStatus(version="1.2", is_owner=False, round_s=NOW_S, counts={(POLLS.name, "rds:*"): 3})


def exposed(
    *instances: InstanceStatus, steady_s: float = STEADY_S, **owner: float | None
) -> dict[tuple[str, ...], float]:
    """Values by name and labels, with the labels of the instance left out."""
    money = {"month_usd": None, "budget_usd": None, "planned_usd": None} | owner
    known = OwnerStatus(instances=instances, waiting={"ops": 2}, **money)
    found = samples_of(replace(SPARE, is_owner=True), known, now_s=NOW_S, steady_s=steady_s)
    return {
        (one.name.removeprefix("plimsoll_"), *(v for v in one.labels if v not in PLACE)): one.value for one in found
    }


def test_all_of_a_ceiling_is_shown():
    """Both phases, use, headroom below the baseline, ratios 0–1, seconds; money in dollars."""
    found = exposed(STATUS, month_usd=1.5, budget_usd=20.0, planned_usd=1.21)

    expected = {
        ("ceiling_bytes_per_second", CEILING, "baseline"): 100e6,
        ("ceiling_bytes_per_second", CEILING, "burst"): 300e6,
        ("served_bytes_per_second", CEILING): 80e6,
        ("headroom_bytes_per_second", CEILING): 20e6,
        ("ceiling_used_ratio", CEILING): 0.8,
        ("balance_ratio", CEILING): 0.25,
        ("time_to_empty_seconds", CEILING): 600.0,
        ("ceiling_state", CEILING, "nearing"): 1.0,
        ("ceiling_state", CEILING, "bound"): 0.0,
        ("instance_verdict", "near"): 1.0,
        ("instance_verdict", "binds"): 0.0,
        ("instance_data_age_seconds",): 120.0,
        ("instance_data_timestamp_seconds",): NOW_S - 120,
        ("instance_catalog_timestamp_seconds",): 1_690_000_000.0,
        ("instance_poll_interval_seconds",): 60.0,
        ("instance_stale",): 0.0,
        ("alert", "bound", CEILING, "bound"): 1.0,
        ("alert_start_timestamp_seconds", "bound", CEILING): 1_699_990_000.0,
        ("watch_outbox_messages", "ops"): 2.0,
        ("watch_instances",): 1.0,
        ("watch_month_cost_dollars",): 1.5,
        ("watch_month_budget_dollars",): 20.0,
        ("watch_planned_cost_dollars",): 1.21,
    }
    assert expected.items() <= found.items()


def test_what_is_unknown_has_no_sample():
    """No use, balance, forecast or price: no series, rather than 0."""
    nothing = CeilingNumbers(ceiling=CEILING, unit="bytes/s", state=WatchState.UNKNOWN)
    numbers = replace(NUMBERS, ceilings=(nothing,), catalog_s=None)

    found = exposed(replace(STATUS, numbers=numbers, standings=(), interval_s=None))

    names = {key[0] for key in found}
    assert not {name for name in names if "second" in name and CEILING in name}
    absent = {
        *("ceiling_bytes_per_second", "served_bytes_per_second", "headroom_bytes_per_second"),
        *("ceiling_used_ratio", "balance_ratio", "time_to_empty_seconds", "alert"),
        *("instance_catalog_timestamp_seconds", "instance_poll_interval_seconds"),
        *("watch_month_cost_dollars", "watch_month_budget_dollars", "watch_planned_cost_dollars"),
    }
    assert not absent & names
    assert found["ceiling_state", CEILING, "unknown"] == 1.0


def test_a_use_above_the_baseline_leaves_no_headroom():
    """The ratio exceeds 1 while credits are spent, and the headroom is 0."""
    numbers = replace(NUMBERS, ceilings=(replace(BYTES, served=250e6),))

    found = exposed(replace(STATUS, numbers=numbers))

    assert (2.5, 0.0) == (found["ceiling_used_ratio", CEILING], found["headroom_bytes_per_second", CEILING])


@pytest.mark.parametrize(
    ("status", "steady_s"), [(STATUS, STEADY_S + 2), (replace(STATUS, fresh_until_s=None), STEADY_S)]
)
def test_old_numbers_are_not_the_present_ones(status: InstanceStatus, steady_s: float):
    """When nothing new was read, or the loop is late, only limits, age, unknown states and open alerts stay."""
    found = exposed(status, steady_s=steady_s)

    assert (1.0, 1.0, 0.0) == (
        found["instance_stale",],
        found["instance_verdict", "unknown"],
        found["instance_verdict", "near"],
    )
    assert (1.0, 0.0) == (found["ceiling_state", CEILING, "unknown"], found["ceiling_state", CEILING, "nearing"])
    assert found["alert", "bound", CEILING, "bound"] == 1.0
    assert found["ceiling_bytes_per_second", CEILING, "baseline"] == 100e6
    gone = {"served_bytes_per_second", "balance_ratio", "time_to_empty_seconds", "ceiling_used_ratio"}
    assert not gone & {key[0] for key in found}


def test_an_instance_that_was_never_read_is_stale():
    """After a restart without data: stale, unknown, and with the alerts that were open."""
    found = exposed(replace(STATUS, numbers=None, fresh_until_s=None))

    assert found["instance_stale",] == found["alert", "bound", CEILING, "bound"] == 1.0
    assert ("instance_data_age_seconds",) not in found


def test_a_closed_alert_has_no_series():
    """As in ALERTS of Prometheus."""
    closed = replace(BOUND, state=WatchState.OK)

    assert "alert" not in {key[0] for key in exposed(replace(STATUS, standings=(closed,)))}


def test_a_spare_shows_only_itself():
    """Version, role, rounds and its own counters; no instance, cost or queue."""
    found = samples_of(SPARE, None, now_s=NOW_S, steady_s=STEADY_S)

    assert [(one.name.removeprefix("plimsoll_"), one.labels, one.value) for one in found] == [
        ("build_info", ("1.2",), 1.0),
        ("watch_lease_owner", (), 0.0),
        ("watch_last_round_timestamp_seconds", (), NOW_S),
        ("watch_polls_total", ("rds:*",), 3.0),
    ]


def test_a_series_is_there_once():
    """Two targets may name one instance; Prometheus refuses a page with one series twice."""
    once = exposed(STATUS)
    found = samples_of(
        SPARE,
        OwnerStatus(instances=(STATUS, STATUS), month_usd=None, budget_usd=None, planned_usd=None, waiting={}),
        now_s=NOW_S,
        steady_s=STEADY_S,
    )

    assert len(found) == len({(one.name, one.labels) for one in found}) <= len(once)


@pytest.mark.parametrize(
    ("target", "label"),
    [
        ("rds:*", "rds:*"),
        ("prom:http://user:secret@host:9090/x?token=1", "prom:http://host:9090/x"),
        ("prom:https://user:secret@host", "prom:https://host"),
    ],
)
def test_a_label_has_no_password(target: str, label: str):
    """Whoever may scrape need not be allowed to ask the target."""
    assert label == target_label(target)


def test_the_guide_has_every_metric():
    """Its table is made of the code: name, labels, meaning."""
    rows = []
    for metric in METRIC_TABLE:
        place = watched_labels() if set(watched_labels()) <= set(metric.labels) else ()
        labels = [name for name in metric.labels if name not in place]
        shown = ", ".join(f"`{name}`" for name in labels)
        rows.append(f"| `{metric.name}` | {shown or '-'} | {metric.meaning} |")
    written = re.findall(r"^\| `plimsoll_.*\|$", (ROOT / "docs/guides/watch.md").read_text(), re.MULTILINE)

    assert rows == written, "\n".join(["write this below 'Metrics':", *rows])


def watched_labels() -> tuple[str, ...]:
    """The labels of an instance, which the guide explains once."""
    return ("aws_account_id", "aws_region", "dbidentifier")
