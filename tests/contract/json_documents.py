"""A document of every form of JSON report that no golden file has, made by the code that writes it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from typer.testing import CliRunner

import failover_reports
import pooled_reports
from contract.tree import ROOT, files
from experiments import experiment
from plimsoll.cli.commands import app
from plimsoll.reports.rehearse.json import render_rehearsal_json
from plimsoll.reports.toast.json import render_toast_proof_json
from plimsoll_lab.reports.experiment.json import render_experiment_json
from plimsoll_lab.reports.failover.json import render_failover_json
from plimsoll_lab.reports.gate.json import render_gate_status
from plimsoll_lab.reports.pooled.json import render_pooled_json
from plimsoll_lab.reports.sweep.json import render_sweep_json
from rehearsals import rehearsal
from unit.cli.gate.test_run import STATUS
from unit.reports.fixture_sweep import report
from unit.reports.fixture_toast import case, proof, sample

Document = dict
PLACE = {"emulated": "db.t3.xlarge", "mount": "/mnt/gate", "clock": 60.0, "emulated_minute_s": 1.0}


def kept() -> Iterator[tuple[Path, Document]]:
    """Every JSON document of a form that is kept in the repository, with its path."""
    for path in files(".json"):
        if path.relative_to(ROOT).parts[0] in ("tests", "examples", "docs"):
            document = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(document, dict) and "schema" in document:
                yield path.relative_to(ROOT), document


def _printed(*arguments: str) -> str:
    """What a command prints for programs."""
    result = CliRunner().invoke(app, (*arguments, "--format", "json"), env={"PLIMSOLL_DSN": ""})
    return result.stdout


def _toast() -> str:
    made = proof(case(), copies=(case(), case()), sample=(sample(),), notes=("this server was built without lz4",))
    return render_toast_proof_json(made)


# By the name of the form's schema file.
DOCUMENTS: dict[str, Callable[[], str]] = {
    "experiment": lambda: render_experiment_json(experiment()),
    "failover": lambda: render_failover_json(failover_reports.report()),
    "gate-status": lambda: render_gate_status(STATUS, **PLACE),
    "infrastructure": lambda: _printed("lint", "terraform", str(ROOT / "tests/fixtures/infrastructure/mixed.json")),
    "limits": lambda: _printed(
        "limits", "db.r5.2xlarge", "--engine", "postgres", "--storage", "gp2", "--size-gib", "1000"
    ),
    "lint": lambda: _printed(
        "lint", "pooler", str(ROOT / "examples/pooled-cluster/pgpool.conf"), "--max-connections", "100"
    ),
    "pace": lambda: _printed("pace", str(ROOT / "examples/claims-pipeline")),
    "pool-size": lambda: _printed("pool-size", "--service", "orders=4x20", "--max-connections", "500"),
    "pooled-cluster": lambda: render_pooled_json(pooled_reports.report()),
    "rehearsal": lambda: render_rehearsal_json(rehearsal()),
    "sweep": lambda: render_sweep_json([report()]),
    "toast-proof": _toast,
}
