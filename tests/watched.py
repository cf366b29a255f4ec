"""Instances to watch, made by hand: a situation with a few samples, and what was found in it. All simulated."""

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

import builders
from fixtures.receivers import messages
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Evidence, Finding, Forecast, Interval, Resource, Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.days import DaySummary
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.machine import Standing, Timing, Transition, step
from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.law.situation import Situation, situation_of
from plimsoll.watch.law.subject import AlertSubject

NAME = "orders"
MINUTE = 60
HOUR_S = 3600
START_S = builders.START_S
END_S = START_S + 3 * HOUR_S
BASELINE, BURST = 100e6, 300e6
"""Of the instance EBS throughput, bytes/s; its credits are measured."""
VOLUME = 400e6
"""Of the volume throughput, bytes/s; it has no credits."""
INSTANCE = WatchedInstance(account="shop", region="eu-central-1", name=NAME)
SUBJECT = INSTANCE.subject("bound", "instance_ebs_throughput")
MINUTES = 180


def ceiling(
    family: Family, phase: Phase, value: float, *, unit: str | None = None, valid_to: str | None = None
) -> Ceiling:
    """A ceiling that some test documents, in the unit of its family or another; phases of a bucket have its balance."""
    balance = Metric.BYTE_BALANCE_RATIO if phase in (Phase.BASELINE, Phase.BURST) else None
    made = builders.ceiling(family, phase, value, balance=balance, valid_to=valid_to)
    return replace(made, unit=unit or made.unit)


CEILINGS = (
    ceiling(Family.INSTANCE_EBS_THROUGHPUT, Phase.BASELINE, BASELINE),
    ceiling(Family.INSTANCE_EBS_THROUGHPUT, Phase.BURST, BURST),
    ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, VOLUME),
)


def interval(
    phase: Phase = Phase.BASELINE,
    *,
    minutes: tuple[int, int] = (150, 180),
    family: Family = Family.INSTANCE_EBS_THROUGHPUT,
    bound: Ceiling | None = None,
    level: float = BASELINE,
) -> Interval:
    """Some minutes at a ceiling."""
    known = bound or next((c for c in CEILINGS if (c.family, c.phase) == (family, phase)), None)
    return Interval(
        start_s=START_S + MINUTE * minutes[0],
        end_s=START_S + MINUTE * minutes[1],
        dimension=Dimension.THROUGHPUT,
        level=level,
        level_low=level,
        level_high=level,
        family=family,
        phase=phase,
        former_phase=known.former_phase if known else None,
        ceiling=known,
        confidence=0.99,
        attribution=0.99,
        io_size_bytes=None,
        latency_s=0.09,
        latency_reference_s=0.005,
        queue_depth=48.0,
        evidence=(Evidence(kind="match", text="the level agrees with a number", weight=2.0),),
        ruled_out=(),
        refuted_by="",
    )


def forecast(family: Family = Family.INSTANCE_EBS_THROUGHPUT, *, left: float, empty_in_s: float | None) -> Forecast:
    """What is left, and for how long."""
    return Forecast(
        family=family,
        balance_ratio=left,
        change_per_s=0.0,
        empty_in_s=empty_in_s,
        empty_in_s_low=None,
        empty_in_s_high=None,
        text="credits: some left",
    )


def resource(family: Family, *, peak: float | None, bound: Ceiling | None = None) -> Resource:
    """One row of the headroom."""
    return Resource(
        family=family,
        name=family.value.replace("_", " "),
        verdict=Verdict.SLACK,
        unit="count",
        ceiling=bound,
        peak=peak,
        p99=None,
        mean=None,
        minutes_above_80=None,
        headroom=None,
    )


def diagnosis(
    *intervals: Interval,
    verdict: Verdict | None = None,
    ceilings: tuple[Ceiling, ...] = CEILINGS,
    forecasts: tuple[Forecast, ...] = (),
    resources: tuple[Resource, ...] = (),
    findings: tuple[Finding, ...] = (),
    window_s: tuple[int, int] = (START_S, END_S),
) -> Diagnosis:
    """What was found in a window of three hours."""
    return Diagnosis(
        instance=Instance(identifier=NAME),
        window_s=window_s,
        step_s=60,
        measured_s=float(window_s[1] - window_s[0]),
        is_simulated=True,
        source="a test",
        note="",
        verdict=verdict or (Verdict.BINDS if intervals else Verdict.SLACK),
        binding=None,
        next_ceiling=None,
        intervals=intervals,
        time_at=(),
        resources=resources,
        buckets=(),
        forecasts=forecasts,
        findings=findings,
        missing=(),
        ceilings=ceilings,
    )


def snapshot(
    *,
    served: ArrayLike = 10e6,
    balance: ArrayLike | None = 1.0,
    connections: ArrayLike | None = None,
    start_s: int = START_S,
    minutes: int = MINUTES,
) -> Snapshot:
    """Samples of every minute: bytes served, half of them reads, and credits left as a ratio."""
    rate = np.broadcast_to(np.asarray(served, dtype=np.float64), minutes)
    made: dict[Metric, ArrayLike] = dict.fromkeys(builders.RATES[:2], rate / 2)
    made |= {m: np.full(minutes, 100.0) for m in builders.RATES[2:]}
    if balance is not None:
        made[Metric.BYTE_BALANCE_RATIO] = np.broadcast_to(np.asarray(balance, float), minutes)
    if connections is not None:
        made[Metric.CONNECTION_COUNT] = np.broadcast_to(np.asarray(connections, float), minutes)
    return builders.snapshot(made, instance=Instance(identifier=NAME), start_s=start_s)


def situation(
    found: Diagnosis | None = None, *, days: tuple[DaySummary, ...] = (), at_s: int = END_S, **samples: ArrayLike | None
) -> Situation:
    """The samples of `snapshot`, and what was found in them."""
    return situation_of(
        snapshot(**samples),  # type: ignore[arg-type]
        found or diagnosis(),
        at_s=at_s,
        days=days,
    )


def by_ceiling(conditions: tuple[Condition, ...]) -> Mapping[str, Condition]:
    """Conditions by their ceiling, which each has once."""
    assert len({c.ceiling for c in conditions}) == len(conditions)
    return {c.ceiling: c for c in conditions}


def transition(
    state: WatchState = WatchState.BOUND,
    *,
    subject: AlertSubject = SUBJECT,
    number: int = 1,
    before: WatchState = WatchState.OK,
    text: str = "is at its ceiling",
    since_s: int = START_S,
    at_s: int = END_S,
) -> Transition:
    """A change of the state of one subject."""
    return Transition(
        subject=subject,
        key="0123456789abcdef",
        number=number,
        before=before,
        state=state,
        since_s=since_s,
        level_since_s=since_s,
        condition=Condition(
            ceiling=subject.ceiling, name="instance EBS throughput", at_s=at_s, text=text, facts=("A fact",)
        ),
    )


def message(number: int = 1, *, key: str = "0123456789abcdef") -> Message:
    """A message about one transition."""
    where = {"account": INSTANCE.account, "region": INSTANCE.region, "instance": NAME}
    return messages.message(number=number, key=key, **where, since_s=START_S, at_s=END_S)


def walk(
    timing: Timing, observed: list[tuple[int, str]], *, subject: AlertSubject = SUBJECT
) -> list[tuple[int, WatchState, int]]:
    """
    Show a machine one letter at a time: `.` ok, `n` nearing, `b` bound, `?` unknown.

    Returns minute, state and number of each transition.
    """
    standing, seen = Standing(subject=subject), []
    for minute, letter in observed:
        at_s = START_S + MINUTE * minute
        found = Condition(
            ceiling=subject.ceiling,
            at_s=at_s,
            is_known=letter != "?",
            nearing_since_s=at_s if letter in "nb" else None,
            bound_since_s=at_s if letter == "b" else None,
        )
        standing, changed = step(standing, found, timing)
        if changed is not None:
            seen.append((minute, changed.state, changed.number))
    return seen
