"""The alarms of a small instance with every kind of limit, for tests of their forms."""

from plimsoll.alarms.choose import choose_alarms
from plimsoll.catalog.load import catalog
from plimsoll.model.alarm import AlarmSet
from plimsoll.model.instance import Instance, Storage


def alarms(identifier: str = "orders", *, is_simulated: bool = False) -> AlarmSet:
    """Alarms that were never replayed."""
    instance = Instance(
        identifier=identifier, db_class="db.t3.large", engine="postgres", storage=Storage(kind="gp2", size_gib=100)
    )
    chosen, left_out = choose_alarms(instance, catalog())
    return AlarmSet(
        identifier=identifier,
        source="test",
        is_simulated=is_simulated,
        window_s=None,
        alarms=chosen,
        histories=(),
        left_out=left_out,
    )
