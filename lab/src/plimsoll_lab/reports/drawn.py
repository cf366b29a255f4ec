"""Every result of the lab in the forms of Plimsoll."""

from collections.abc import Sequence

from plimsoll.app.render import Drawn
from plimsoll_lab.model.experiment import ExperimentReport
from plimsoll_lab.model.failover import FailoverReport
from plimsoll_lab.model.pooled import PooledReport
from plimsoll_lab.model.sweep import SweepReport
from plimsoll_lab.reports.experiment.document import experiment_document
from plimsoll_lab.reports.experiment.json import render_experiment_json
from plimsoll_lab.reports.failover.document import failover_document
from plimsoll_lab.reports.failover.json import render_failover_json
from plimsoll_lab.reports.pooled.document import pooled_document
from plimsoll_lab.reports.pooled.json import render_pooled_json
from plimsoll_lab.reports.sweep.document import sweep_document
from plimsoll_lab.reports.sweep.json import render_sweep_json


def drawn(report: ExperimentReport | FailoverReport | PooledReport) -> Drawn:
    """Return the report of a played incident, as `plimsoll.app.render` takes it."""
    if isinstance(report, ExperimentReport):
        return Drawn(document=experiment_document(report), json=render_experiment_json(report).decode())
    if isinstance(report, FailoverReport):
        return Drawn(document=failover_document(report), json=render_failover_json(report).decode())
    return Drawn(document=pooled_document(report), json=render_pooled_json(report).decode())


def drawn_sweeps(reports: Sequence[SweepReport]) -> Drawn:
    """Return the sweeps of one command, one for each configuration, as `plimsoll.app.render` takes them."""
    return Drawn(document=sweep_document(tuple(reports)), json=render_sweep_json(tuple(reports)))
