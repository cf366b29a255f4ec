"""The descriptions of the instances of a bucket, found by account, region and name."""

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from plimsoll.fleet.parts import InstanceKey

_BOUGHT = ("db_class", "engine", "storage", "storage_gib")


class Descriptions:
    """The descriptions of some instances."""

    def __init__(self, described: pl.DataFrame, keys: Iterable[InstanceKey]) -> None:
        """Keep the rows of the instances that are named, so that each looks among few."""
        names = {key[2].lower() for key in keys}
        mine = described.filter(pl.col("instance").str.to_lowercase().is_in(names))
        self._rows = mine.sort("valid_from_s").to_arrow()
        self._places: dict[str, list[tuple[str, str, int]]] = {}
        named = zip(*(self._rows.column(name).to_pylist() for name in ("account", "region", "instance")), strict=True)
        for place, (account, region, instance) in enumerate(named):
            self._places.setdefault(instance.lower(), []).append((account, region, place))

    def about(self, key: InstanceKey) -> pa.Table:
        """
        Return the descriptions of one instance, by time.

        An answer of AWS names no account, and a recorded snapshot names neither: what one side does not say
        does not tell instances apart. Identifiers are compared without case, as RDS stores them.
        """
        places = self._about(key)
        if len(places) == 1:
            return self._rows.slice(places[0], 1)
        return self._rows.take(pa.array(places, pa.int64()))

    def bought(self, key: InstanceKey) -> str:
        """Return the last known class, engine and storage of an instance as a text to sort by."""
        places = self._about(key)
        if not places:
            return ""
        return str([self._rows.column(name)[places[-1]].as_py() for name in _BOUGHT])

    def _about(self, key: InstanceKey) -> list[int]:
        account, region, instance = key
        return [
            place
            for its_account, its_region, place in self._places.get(instance.lower(), [])
            if (not account or its_account in ("", account)) and (not region or its_region in ("", region))
        ]
