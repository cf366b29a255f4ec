"""The three examples, as people see them: what is found, why, and what to do first."""

import json
from collections.abc import Callable
from functools import cache

import pytest

from alike import is_alike
from contract.tree import ROOT
from golden.together import script
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import read_target
from plimsoll.app.render import Form, Report, render
from plimsoll.cli.diagnose.run import EXIT
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot

EXAMPLES = ("search-service", "claims-pipeline", "quiet")


@cache
def read(name: str) -> Snapshot:
    return read_target(str(ROOT / "examples" / name), InstanceOptions())


@cache
def of(name: str) -> Diagnosis:
    return diagnose_snapshot(read(name))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize(("form", "ending"), [("text", "txt"), ("markdown", "md")])
def test_the_report_reads_as_reviewed(name: str, form: Form, ending: str, golden: Callable[[str, str], None]):
    """At 80 columns without colour, and in a ticket, the whole report is what was reviewed."""
    golden(f"{name}/report.{ending}", render(Report(diagnosis=of(name), snapshot=read(name)), form, width=80))


def test_the_script_reproduces_the_committed_snapshots():
    """Equal seeds give equal files, to twelve digits on every processor."""
    made = script("reconstruct").EXAMPLES

    assert set(EXAMPLES) == set(made)
    for name, build in made.items():
        committed = (ROOT / "examples" / name / "snapshot.json").read_text(encoding="utf-8")
        assert is_alike(committed, encode_snapshot(build()).decode() + "\n"), name


def test_the_script_writes_the_committed_exports():
    """Equal seeds give equal files; docs/tutorial.md shows that each is found to be at its limit."""
    folder, made = ROOT / "examples/exports", script("reconstruct_exports").made()

    assert {path.name for path in folder.iterdir()} == {"README.md", *made}
    for name, text in made.items():
        assert text == (folder / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_report_says_that_it_is_simulated(name: str):
    """Made-up data is called simulated in every form."""
    report = Report(diagnosis=of(name), snapshot=read(name))

    assert report.diagnosis.is_simulated
    assert all("simulated" in render(report, form).lower() for form in ("text", "markdown", "html"))
    assert json.loads(render(report, "json"))["is_simulated"] is True


def test_search_service_is_held_at_a_legacy_baseline():
    """A db.r5.2xlarge from before December 2019 is held at 212.5 MB/s, which was its baseline then."""
    diagnosis = of("search-service")
    binding = diagnosis.binding

    assert 1 == EXIT[diagnosis.verdict]
    assert binding is not None
    assert binding.ceiling is not None
    assert (Family.INSTANCE_EBS_THROUGHPUT, Phase.LEGACY) == (binding.family, binding.phase)
    assert Phase.BASELINE == binding.ceiling.former_phase
    assert 212.5e6 == binding.ceiling.value
    # The published measurement was 213 MB/s.
    assert 213e6 == pytest.approx(binding.level, rel=0.003)
    assert binding.seconds > 24 * 3600


def test_claims_pipeline_teaches_its_bucket():
    """The balance of the loading night gives capacity and refill back, within their errors."""
    (fit,) = of("claims-pipeline").buckets

    assert Family.INSTANCE_EBS_THROUGHPUT == fit.family
    # What the simulator was given: half an hour of burst above the baseline.
    assert abs(fit.capacity - (347.5e6 - 86.875e6) * 1800) < 3 * fit.capacity_se
    assert abs(fit.baseline - 86.875e6) < 3 * fit.baseline_se
