"""
Read long tables of text, slice by slice: a row has one sample and the name of its metric.

Rule 1: only the times and numbers of a sample are kept; its metric, unit and instance are kept once
        for all samples that share them.
Rule 2: metrics that have the same times share one array of them.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.export.csv.slices import TextTable
from plimsoll.sources.export.table_frame import MOST_GROUPS, Roles, not_a_table, read_rows
from plimsoll.sources.reading.reading import Block, Reading

Key = tuple[str, str | None, str | None, object]


class _LongSamples:
    """The samples of one metric, in pieces as they were read."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.times: list[IntArray] = []
        self.values: list[FloatArray] = []

    def add(self, block: Block) -> None:
        self.times.append(block.time_s)
        self.values.append(block.value)

    def joined(self, known: list[IntArray]) -> Block:
        """Return all of them, with an array of times that is known if one is equal."""
        time_s, value = np.concatenate(self.times), np.concatenate(self.values)
        self.times, self.values = [], []
        same = next((k for k in known if np.array_equal(k, time_s)), None)
        if same is None:
            known.append(time_s)
        return replace(self.block, time_s=time_s if same is None else same, value=value)


def read_long(table: TextTable, roles: Roles, reading: Reading, path: Path) -> bool:
    """
    Add the samples of a long table with one column of plain numbers.

    Returns:
        False, with nothing added, if it is not a long table.

    Raises:
        DataError: no cell is a time, or there are more metrics and instances than an export has.
    """
    if roles.metric is None or roles.time is None or len(roles.values) != 1:
        return False
    found: dict[Key, _LongSamples] = {}
    is_any_readable, bad_times = False, 0
    for frame in table.plain_slices(roles):
        if frame is None:
            return False
        part = Reading()
        readable = read_rows(frame, table.names, roles, part, where=table.where, path=path, comma_is_decimal=False)
        is_any_readable |= readable
        bad_times += part.bad_times
        for block in part.blocks:
            key = (block.name, block.instance, block.unit, block.statistic)
            found.setdefault(key, _LongSamples(block)).add(block)
        if len(found) > MOST_GROUPS:
            raise not_a_table(table.where, f"it names {len(found):,} different metrics or instances")
    if not is_any_readable:
        return False
    reading.bad_times += bad_times
    known: list[IntArray] = []
    reading.blocks += [samples.joined(known) for samples in found.values()]
    return True
