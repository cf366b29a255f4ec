"""
The Arrow tables of a fleet: points, descriptions and verdicts.

Rule 1: values of points are in the units of `model.metric`; names of metrics are those of `Metric`.
Rule 2: a point keeps sum, count, minimum and maximum, so that points can be merged without averaging averages.
"""

from decimal import Decimal
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from plimsoll.model.fleet import FleetVerdict

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

_COLUMNS = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    Decimal: pa.decimal128(18, 4),  # US dollars
}


def _column(hint: Any) -> pa.DataType:
    """Return the type of the column of a field, which may be null."""
    [kind] = (one for one in get_args(hint) or (hint,) if one is not type(None))
    return _COLUMNS[kind]


VERDICTS = pa.schema([(name, _column(hint)) for name, hint in get_type_hints(FleetVerdict).items()])
"""One row for each instance; null where something is not known or does not apply, never zero for that."""


_VERDICT = pa.struct(VERDICTS)


def verdicts_table(rows: list[dict[str, object]]) -> pa.Table:
    """Return rows as one table of `VERDICTS`; a key that a row lacks is null."""
    return pa.Table.from_struct_array(pa.array(rows, _VERDICT))
