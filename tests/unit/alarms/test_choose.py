"""Alarms fit the instance: no alarm on what cannot happen, and the numbers are those of the watch."""

from msgspec.structs import replace

from plimsoll.alarms.choose import choose_alarms
from plimsoll.catalog.load import catalog
from plimsoll.model.alarm import Alarm, LeftOutAlarm
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import mb_per_s
from plimsoll.watch.law.days import HIGH_RATIO
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.law.rules.bound import BoundSettings

R5 = Instance(
    db_class="db.r5.2xlarge",
    engine="postgres",
    launched_s=1_700_000_000,
    storage=Storage(kind="io1", size_gib=3000, provisioned_ops_per_s=30_000),
)


def chosen(instance: Instance, tables: RuleTables | None = None) -> tuple[dict[str, Alarm], dict[str, LeftOutAlarm]]:
    alarms, left_out = choose_alarms(instance, catalog(), tables)
    return {a.key: a for a in alarms}, {one.name: one for one in left_out}


def test_an_alarm_has_the_ratio_of_the_watch():
    """287.5 MB/s is the baseline of db.r5.2xlarge today; reads and writes count together."""
    alarm = chosen(R5)[0]["instance-ebs-throughput-baseline"]

    assert HIGH_RATIO * mb_per_s(287.5) == alarm.threshold
    assert (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S) == alarm.metrics
    assert (2, 3, 300) == (alarm.datapoints_to_alarm, alarm.evaluation_periods, alarm.period_s)


def test_a_setting_of_the_watch_moves_the_alarm():
    tables = RuleTables(bound=BoundSettings(near_ratio=0.5))

    assert mb_per_s(143.75) == chosen(R5, tables)[0]["instance-ebs-throughput-baseline"].threshold


def test_a_burstable_class_is_watched_for_cpu_credits():
    """db.t3.large saves up to 864 CPU credits."""
    alarms, _ = chosen(replace(R5, db_class="db.t3.large"))

    assert 432 == alarms["cpu-credits-low"].threshold
