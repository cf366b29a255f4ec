"""Every kind of report, and what commands print, as people and programs read them: a row is a file and what it has."""

from collections.abc import Callable, Mapping
from contextlib import chdir
from itertools import product

import pytest
from typer.testing import CliRunner

import fleets
import plans
from contract.tree import ROOT
from golden import test_comparisons, test_inspections, test_plans_compared
from paced import COUNTED, T3, slow_truth
from plimsoll.app.options import InstanceOptions, PaceTarget
from plimsoll.app.pace import pace_report
from plimsoll.app.render import render
from plimsoll.cli.commands import app
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import FastTruth, SlowTruth
from plimsoll.model.pace import PaceReport

EXAMPLE = str(ROOT / "examples/search-service")
Reviewed = dict[str, Callable[[], str]]


def at_widths(folder: str, cases: Mapping[str, Callable[[], object]], *widths: int) -> Reviewed:
    """Each report as text at each width, without colour."""
    return {
        f"{folder}/{name}-{width}.txt": lambda made=made, width=width: render(made(), width=width, color=False)
        for (name, made), width in product(cases.items(), widths)
    }


def in_forms(folder: str, cases: Mapping[str, Callable[[], object]], *names: str) -> Reviewed:
    """What goes into a ticket, and what machines read, of reports by the names of their files."""
    forms = {"md": "markdown", "json": "json"}
    return {
        f"{folder}/{name}": lambda name=name: render(cases[name.partition(".")[0]](), forms[name.partition(".")[2]])
        for name in names
    }


def printed(words: str, *, status: int = 0) -> Callable[[], str]:
    """What a command prints that is run at the root, where nothing is wrong."""

    def run() -> str:
        with chdir(ROOT):
            result = CliRunner().invoke(app, words.split())
        assert (status, "") == (result.exit_code, result.stderr)
        return result.stdout

    return run


def paced(slow: SlowTruth | None = None, *fast: FastTruth, now_s: float = 0.0, **terms: object) -> PaceReport:
    controller = PaceController(T3, PaceTerms(**terms), notes=("one more thing",) if terms else ())
    if slow is not None:
        controller.observe_slow(slow)
    for one in fast:
        controller.observe_fast(one)
    return PaceReport(identifier="orders", source="a test", is_simulated=True, allowance=controller.allowance(now_s))


def paced_by_legacy_limits() -> PaceReport:
    target = PaceTarget(target=EXAMPLE, instance=InstanceOptions(launched="2019-06-01"))
    return pace_report(target, PaceTerms())


PEER = FastTruth(start_s=1, end_s=2, batch_bytes=1e6, peers_bytes_per_s=(2e6,))
PACED: dict[str, Callable[[], object]] = {
    "no-metrics": paced,
    "counters": lambda: paced(slow_truth(balance=0.8), COUNTED, PEER, now_s=100, reserve_ratio=0.5),
    "nothing-left": lambda: paced(slow_truth(bytes_per_s=340e6, balance=0.1)),
}
COMPARED = {name: lambda name=name: test_comparisons.of(name) for name in test_comparisons.CASES}
INSPECTED = test_inspections.INSPECTIONS
FLEET, EXPLAINED = {"fleet": fleets.fleet}, {"compared": test_plans_compared.compared}
POOLER, PLAN = "lint pooler examples/pooled-cluster/pgpool.conf", "lint terraform examples/infrastructure/plan.json"
TEMPLATE = "lint cloudformation examples/infrastructure/template.yaml --region us-east-1"
OF_GP2 = "db.r5.2xlarge --engine postgres --storage gp2 --size-gib 1000 --launched 2019-06-01"
OF_GP3 = "db.m7g.large --engine mysql --storage gp3 --size-gib 500 --iops 40000 --throughput-mibps 2000"

REVIEWED: Reviewed = {
    **at_widths("plan", plans.PLANS, 60, 80, 120),
    **in_forms("plan", plans.PLANS, "claims.md", "claims.json"),
    **at_widths("compare", COMPARED, 80, 120),
    **in_forms(
        "compare", COMPARED, *(f"{name}.md" for name in COMPARED), "claims-pipeline.json", "search-service.json"
    ),
    **at_widths("inspect", INSPECTED, 60, 80, 120),
    **in_forms("inspect", INSPECTED, *(f"{name}.{form}" for name in INSPECTED for form in ("md", "json"))),
    **at_widths("fleet", FLEET, 60, 100),
    **in_forms("fleet", FLEET, "fleet.md", "fleet.json"),
    **at_widths("plans", EXPLAINED, 80, 120),
    **in_forms("plans", EXPLAINED, "compared.json"),
    **at_widths("pace", PACED, 60, 110),
    **at_widths("pace", {"legacy": paced_by_legacy_limits}, 110),
    "limits/r5-2xlarge-gp2-2019.txt": printed(f"limits {OF_GP2} --width 80"),
    "limits/t3-xlarge-gp2.txt": printed(
        "limits db.t3.xlarge --engine postgres --storage gp2 --size-gib 1024 --multi-az --width 80"
    ),
    "limits/m7g-large-gp3.txt": printed(f"limits {OF_GP3} --launched 2024-03-01 --width 80"),
    # The numbers, the lines and the queries of alarms.
    "alarm/search-service.json": printed(f"alarm {EXAMPLE} --format json"),
    "alarm/search-service.grafana.json": printed(f"alarm {EXAMPLE} --format grafana"),
    "alarm/search-service.yace.grafana.json": printed(f"alarm {EXAMPLE} --format grafana --exporter yace"),
    # With the version of its time and a server of 1,000 connections; then the file alone, which is enough to be warned.
    **{
        f"pooler/pooled-cluster-{width}.txt": printed(
            f"{POOLER} --version 4.1.2 --max-connections 1000 --width {width}", status=1
        )
        for width in (80, 120)
    },
    "pooler/pooled-cluster-alone.txt": printed(f"{POOLER} --width 80", status=1),
    # One warning: the limit, the price and that this change introduces it; then the line of the resource of a template.
    **{f"infrastructure/plan-{width}.txt": printed(f"{PLAN} --width {width}", status=1) for width in (60, 100)},
    "infrastructure/template.txt": printed(f"{TEMPLATE} --width 80", status=1),
    # Every kind of finding, and every kind of what was not checked.
    "infrastructure/mixed.txt": printed(
        "lint terraform tests/fixtures/infrastructure/mixed.json --width 100", status=1
    ),
}


@pytest.mark.parametrize("file", REVIEWED)
def test_it_reads_as_reviewed(file: str, golden: Callable[[str, str], None]):
    """The whole of it is what was reviewed."""
    golden(file, REVIEWED[file]())
