"""
The Arrow tables of a fleet: points, descriptions and verdicts.

Rule 1: values of points are in the units of `model.metric`; names of metrics are those of `Metric`.
Rule 2: a point keeps sum, count, minimum and maximum, so that points can be merged without averaging averages.
"""

import pyarrow as pa

INSTANCE_KEY = ("account", "region", "instance")
"""Columns that name an instance."""

POINTS = pa.schema(
    [
        ("account", pa.string()),  # AWS account; empty where the source does not say
        ("region", pa.string()),
        ("instance", pa.string()),  # DBInstanceIdentifier
        ("metric", pa.string()),  # a value of Metric
        ("time_s", pa.int64()),  # start of the step, epoch seconds
        ("sum", pa.float64()),  # of the samples of the step, in the unit of the metric
        ("count", pa.float64()),  # number of samples
        ("min", pa.float64()),
        ("max", pa.float64()),
    ]
)
POINT_KEY = (*INSTANCE_KEY, "metric", "time_s")
"""Columns that name a point; a lake has each once."""

DESCRIBED = pa.schema(
    [
        ("account", pa.string()),
        ("region", pa.string()),
        ("instance", pa.string()),
        ("valid_from_s", pa.int64()),  # epoch seconds
        ("valid_to_s", pa.int64()),  # exclusive; null while it is valid
        ("db_class", pa.string()),
        ("engine", pa.string()),
        ("storage", pa.string()),  # gp2, gp3, io1 …
        ("storage_gib", pa.float64()),
        ("is_simulated", pa.bool_()),
        ("described", pa.string()),  # the whole Instance as JSON
    ]
)

_USD = pa.decimal128(18, 4)

VERDICTS = pa.schema(
    [
        ("account", pa.string()),
        ("region", pa.string()),
        ("instance", pa.string()),
        ("db_class", pa.string()),
        ("engine", pa.string()),
        ("storage", pa.string()),
        ("storage_gib", pa.float64()),
        ("is_simulated", pa.bool_()),
        ("tags", pa.string()),  # a JSON object; null where the source does not say
        ("verdict", pa.string()),  # binds, near, slack, unknown, error
        ("reason", pa.string()),  # of an error, or what is missing for a verdict
        ("remedy", pa.string()),
        ("start_s", pa.int64()),  # the window that was judged, epoch seconds
        ("end_s", pa.int64()),
        ("measured_s", pa.float64()),
        ("family", pa.string()),  # of the ceiling that bound longest
        ("phase", pa.string()),  # baseline, burst, fixed, legacy
        ("ceiling", pa.float64()),  # bytes/s or operations/s, see dimension
        ("dimension", pa.string()),
        ("at_ceiling_s", pa.float64()),  # time at that ceiling
        ("at_ceiling_ratio", pa.float64()),  # of the measured time
        ("is_now", pa.bool_()),  # whether a ceiling binds at the end of the window
        ("waiting_s", pa.float64()),  # waiting that no ceiling explains
        ("nearest", pa.string()),  # the resource with the least headroom
        ("nearest_ratio", pa.float64()),  # its peak, of its ceiling
        ("emptying", pa.string()),  # the balance or space that will be empty first
        ("empty_in_s", pa.float64()),  # at the present rate; null where none is falling
        ("unreachable", pa.string()),  # what is paid for and cannot be used
        ("usd_per_day", _USD),  # now, on demand; null where a price is not known
        ("option", pa.string()),  # the first option of the plan that suffices
        ("option_usd_per_day_more", _USD),
        ("option_chance", pa.float64()),  # share of plausible demands for which it is enough
        ("legacy", pa.string()),  # what a stop and start would change
        ("cheaper", pa.string()),  # a setup that costs less and serves the same demand
        ("cheaper_usd_per_day_more", _USD),  # below zero: a saving
        ("cheaper_chance", pa.float64()),  # share of plausible demands for which it is enough
        ("plan_note", pa.string()),  # why there is no plan
    ]
)
"""One row for each instance; null where something is not known or does not apply, never zero for that."""


_VERDICT = pa.struct(VERDICTS)


def verdicts_table(rows: list[dict[str, object]]) -> pa.Table:
    """Return rows as one table of `VERDICTS`; a key that a row lacks is null."""
    return pa.Table.from_struct_array(pa.array(rows, _VERDICT))
