"""`diagnose --brief` and `--card`, as they are typed."""

import pytest

from contract.tree import ROOT
from plimsoll.reports.render.brief import LINES_MAX

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("name", ["claims-pipeline", "quiet"])
def test_the_status_is_that_of_the_whole_report(run, name):
    """A brief report ends as the whole one does, and is much shorter."""
    whole, brief = (run("diagnose", EXAMPLES / name, *more) for more in ((), ("--brief",)))

    assert whole[0] == brief[0]
    assert len(brief[1].splitlines()) <= LINES_MAX < len(whole[1].splitlines())
    assert name in brief[1]


@pytest.mark.parametrize("command", ["plan", "compare"])
def test_plans_and_comparisons_have_one_too(run, command):
    """One screen, with the status of the whole report."""
    targets = [EXAMPLES / "search-service"]
    targets += [EXAMPLES / "search-service-after"] if command == "compare" else []
    status, out, _ = run(command, *targets, "--brief")

    assert (0 if command == "compare" else 1) == status
    assert len(out.splitlines()) <= LINES_MAX
    assert "SIMULATED DATA" in out


def test_several_instances_keep_their_table(run, tmp_path):
    """With --brief a folder of two instances is the table that it is without."""
    for name in ("quiet", "claims-pipeline"):
        (tmp_path / f"{name}.json").write_bytes((EXAMPLES / name / "snapshot.json").read_bytes())
    whole, brief = (run("diagnose", tmp_path, "--identifier", "*", *more) for more in ((), ("--brief",)))

    assert whole[:2] == brief[:2]
    assert "quiet" in whole[1]
