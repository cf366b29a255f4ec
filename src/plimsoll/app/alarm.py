"""Choose the alarms for an instance, and replay them over its history."""

from plimsoll.alarms.choose import choose_alarms
from plimsoll.alarms.replay import history_of
from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.progress import SILENT, Progress
from plimsoll.app.targets import Target
from plimsoll.errors import UsageError
from plimsoll.model.alarm import AlarmHistory, AlarmSet
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.diagnosis import Interval
from plimsoll.model.instance import Instance


def alarms_of(
    target: str | Target | None,
    flags: InstanceOptions,
    read_options: ReadOptions | None = None,
    progress: Progress = SILENT,
) -> AlarmSet:
    """
    Return the alarms for an instance, with what each would have done in the window of the target.

    Args:
        target: what `plimsoll diagnose` reads; None for an instance that only the flags describe.
        flags: class, storage and so on; a field given here replaces what the source says.
        read_options: window and access.
        progress: shown while a source is read.

    Raises:
        UsageError: neither a target nor a class, or no limit is known.
        CatalogError: the class does not exist.
        SourceError: the source refuses, or does not answer.
        DataError: the target holds nothing that can be read.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.limits import ceilings_of

    if target is None:
        if flags.db_class is None:
            raise UsageError("there is no target and no class", "Give rds:NAME or a file, or --class and --storage.")
        instance = with_flags(Instance(), flags)
        alarms, left_out = choose_alarms(ceilings_of(instance, catalog()))
        return AlarmSet(
            identifier=instance.identifier,
            source="documented limits",
            is_simulated=False,
            window_s=None,
            alarms=alarms,
            histories=(),
            left_out=left_out,
        )
    from plimsoll.app.diagnose import diagnose_snapshot
    from plimsoll.app.read import read_target

    snapshot = read_target(target, flags, read_options, progress)
    alarms, left_out = choose_alarms(ceilings_of(snapshot.instance, catalog()))
    if not alarms:
        raise UsageError(
            f"no limit of '{snapshot.instance.identifier}' is known, so there is nothing to watch",
            "Add --class and --storage.",
        )
    histories: tuple[AlarmHistory, ...] = ()
    held: Interval | None = None
    if snapshot.window_s is not None:
        intervals = tuple(i for i in diagnose_snapshot(snapshot).intervals if i.dimension is not Dimension.AMOUNT)
        histories = tuple(history_of(alarm, snapshot.series, intervals) for alarm in alarms)
        lasting = [i for i in intervals if (i.former_phase or i.phase) is not Phase.BURST]
        held = min(lasting, key=lambda interval: interval.start_s, default=None)
    return AlarmSet(
        identifier=snapshot.instance.identifier,
        source=snapshot.source,
        is_simulated=snapshot.is_simulated,
        window_s=snapshot.window_s,
        alarms=alarms,
        histories=histories,
        left_out=left_out,
        held_s=held.start_s if held else None,
        held_family=held.family if held else None,
    )
