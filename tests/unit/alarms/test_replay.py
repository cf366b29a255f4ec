"""Alarms are replayed as CloudWatch evaluates them."""

import numpy as np
import pytest

from plimsoll.alarms.choose import choose_alarms
from plimsoll.alarms.replay import AlarmState, history_of, state_of
from plimsoll.catalog.load import catalog
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series

LARGE = Instance(
    db_class="db.t3.large", engine="postgres", launched_s=1_700_000_000, storage=Storage(kind="gp3", size_gib=400)
)
ALARMS = {alarm.key: alarm for alarm in choose_alarms(LARGE, catalog())[0]}
LOW = ALARMS["instance-throughput-credits-low"]


@pytest.mark.parametrize(
    ("points", "state"),
    [
        ("0-X-X", AlarmState.OK),
        ("0----", AlarmState.OK),
        ("-----", AlarmState.INSUFFICIENT_DATA),
        ("0XX-X", AlarmState.ALARM),
        ("--X--", AlarmState.ALARM),
    ],
)
def test_missing_data_is_treated_as_in_the_table_of_the_user_guide(points: str, state: AlarmState):
    """The rows of the column MISSING in "Configuring how CloudWatch alarms treat missing data", 3 of 3."""
    parsed = [{"0": False, "X": True, "-": None}[letter] for letter in points]

    assert state is state_of(parsed, needed=3, of=3)


def test_two_of_three_periods_set_an_alarm_off():
    assert AlarmState.ALARM is state_of([True, False, True], needed=2, of=3)
    assert AlarmState.OK is state_of([True, False, False], needed=2, of=3)


def balance(values: list[float], step_s: int = 300) -> dict[Metric, Series]:
    times = np.arange(len(values), dtype=np.int64) * step_s + 1_700_000_100
    value = np.array(values, dtype=np.float64)
    metric = Metric.BYTE_BALANCE_RATIO
    return {metric: Series(metric=metric, step_s=step_s, time_s=times, value=value)}


def test_a_balance_alarm_leaves_time_before_the_balance_is_empty():
    """At or below half for two periods of five minutes; the balance is empty 20 minutes after that."""
    history = history_of(LOW, balance([1.0, 0.8, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0, 0.0]), ())

    assert (1_700_000_100 + 4 * 300,) == history.fired_s
    assert 20 * 60 == history.lead_s


def test_an_alarm_that_often_goes_off_for_nothing_is_noisy():
    history = history_of(LOW, balance([1.0, 1.0, 0.4, 0.4, 1.0, 1.0] * 5), ())

    assert 5 == len(history.fired_s)
    assert history.is_noisy


def test_samples_that_are_coarser_than_the_period_measure_nothing():
    assert not history_of(LOW, balance([0.1] * 5, step_s=3600), ()).is_measured
    assert not history_of(LOW, {}, ()).is_measured


def test_a_use_near_the_baseline_counts_only_while_few_credits_are_left():
    alarm = ALARMS["instance-ebs-throughput-baseline"]
    times = np.arange(6, dtype=np.int64) * 300 + 1_700_000_100
    half = np.full(6, alarm.threshold / 2)

    def over(left: float) -> tuple[int, ...]:
        series = balance([left] * 6) | {
            metric: Series(metric=metric, step_s=300, time_s=times, value=half) for metric in alarm.metrics
        }
        return history_of(alarm, series, ()).fired_s

    assert () == over(0.9)
    assert 1 == len(over(0.4))
