"""The verdict of one instance of a fleet, with this version's catalog: the function that every engine runs."""

from functools import partial
from typing import TYPE_CHECKING

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import check_window, options_snapshot, plan_snapshot
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.plan import FirstOptions, Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

if TYPE_CHECKING:
    from plimsoll.fleet.run import Verdict


def plan_of(diagnosis: Diagnosis, snapshot: Snapshot) -> Plan:
    """
    Return the plan for one instance, without constraints and with the catalog's prices.

    Raises:
        UsageError: class, engine or region is not known.
        DataError: the window is shorter than a day, or storage was not measured.
    """
    check_window(snapshot, is_short_allowed=False)
    return plan_snapshot(diagnosis, snapshot, PlanConstraints())


def options_of(diagnosis: Diagnosis, snapshot: Snapshot) -> FirstOptions:
    """
    Return what a row shows of the plan of `plan_of`; errors are the same.

    The rest of a plan, such as its curve, takes longer than these options.
    """
    check_window(snapshot, is_short_allowed=False)
    return options_snapshot(diagnosis, snapshot, PlanConstraints())


def row_diagnosis(snapshot: Snapshot) -> Diagnosis:
    """Return the diagnosis of a snapshot with what a row shows, against the catalog of this version."""
    from plimsoll.catalog.load import catalog
    from plimsoll.diagnosis.diagnose import diagnose

    return diagnose(snapshot, catalog(), is_brief=True)


def verdict_function(*, window_s: tuple[int, int] | None, has_plan: bool) -> "Verdict":
    """
    Return the function from points and descriptions of one instance to its row; it can be pickled.

    Args:
        window_s: epoch seconds, [start, end); None judges all points.
        has_plan: whether the options of a plan are computed, which takes most of the time.
    """
    from plimsoll.fleet.verdict import VerdictLaw, instance_verdict

    judge = VerdictLaw(
        diagnose=diagnose_snapshot if has_plan else row_diagnosis,
        plan=options_of if has_plan else None,
        window_s=window_s,
    )
    return partial(instance_verdict, judge=judge)
