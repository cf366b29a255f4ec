"""Choose the alarms for an instance, and replay them over its history."""

from plimsoll.alarms.choose import choose_alarms
from plimsoll.alarms.replay import history_of
from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.progress import SILENT, Progress
from plimsoll.app.targets import Target
from plimsoll.errors import UsageError
from plimsoll.model.alarm import AlarmHistory, AlarmSet
from plimsoll.model.ceiling import Phase
from plimsoll.model.diagnosis import Diagnosis, Interval
from plimsoll.model.instance import Instance
from plimsoll.model.now import intervals_at
from plimsoll.model.snapshot import Snapshot


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

    if target is None:
        if flags.db_class is None:
            raise UsageError("there is no target and no class", "Give rds:NAME or a file, or --class and --storage.")
        instance = with_flags(Instance(), flags)
        alarms, left_out = choose_alarms(instance, catalog())
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
    return alarms_in(snapshot, diagnose_snapshot(snapshot) if snapshot.window_s is not None else None)


def alarms_in(snapshot: Snapshot, diagnosis: Diagnosis | None) -> AlarmSet:
    """
    Return the alarms for the instance of a snapshot, with what each would have done in its window.

    Args:
        snapshot: the window.
        diagnosis: of the snapshot; None where it has no samples.

    Raises:
        UsageError: no limit is known.
        CatalogError: the class does not exist.
    """
    from plimsoll.catalog.load import catalog

    alarms, left_out = choose_alarms(snapshot.instance, catalog())
    if not alarms:
        raise UsageError(
            f"no limit of '{snapshot.instance.identifier}' is known, so there is nothing to watch",
            "Add --class and --storage.",
        )
    histories: tuple[AlarmHistory, ...] = ()
    held: Interval | None = None
    if diagnosis is not None:
        histories = tuple(history_of(alarm, snapshot.series, diagnosis.intervals) for alarm in alarms)
        # In the order of the diagnosis, so that both name the same limit.
        lasting = (at for at in diagnosis.time_at if at.ceiling is None or at.ceiling.bucket_phase is not Phase.BURST)
        held = next((intervals_at(diagnosis, at)[0] for at in lasting), None)
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
