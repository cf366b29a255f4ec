"""
The size of an Aurora instance's local disk: temporary files and, for most classes, logs.

The data is in the cluster volume, which grows automatically.
"""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.aurora import engine_of
from plimsoll.limits.layout import is_aurora, is_serverless
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Instance

_NOTE = "the documented maximum for the class; Aurora itself uses a part of it"


def applies(instance: Instance) -> bool:
    """Return whether it is an Aurora instance with a class; Aurora Serverless reports no local storage."""
    return is_aurora(instance) and instance.db_class is not None and not is_serverless(instance)


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return one ceiling in bytes; none where no size is documented, for example for classes with NVMe disks.

    Source:
        Aurora User Guide, "Temporary storage limits" of Aurora MySQL and of Aurora PostgreSQL.
    """
    engine, db_class = engine_of(instance), instance.db_class
    facts = catalog.aurora_class(engine, db_class) if engine and db_class else None
    if facts is None or facts.local_storage_bytes is None:
        return ()
    return (
        Ceiling(
            family=Family.LOCAL_STORAGE,
            phase=Phase.FIXED,
            dimension=Dimension.AMOUNT,
            value=facts.local_storage_bytes,
            unit="bytes",
            origin=facts.origin,
            note=_NOTE,
        ),
    )
