"""`import plimsoll`: what it loads, what it offers, and that its examples are true."""

import ast
import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import inspections
import plimsoll
from contract.documents import blocks
from contract.tree import ROOT, SRC
from plimsoll.app import inspect as app_inspect
from plimsoll.app import library
from plimsoll.model.snapshot_file.codec import decode_snapshot

GUIDE = ROOT / "docs" / "guides" / "use-as-a-library.md"


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, with the examples in it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")


def test_importing_it_loads_nothing():
    """The package alone is a table of names: neither numpy nor msgspec comes with it."""
    program = (
        "import sys, plimsoll\nprint(*(m for m in sys.modules if m.startswith(('plimsoll.', 'numpy', 'msgspec'))))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "" == result.stdout.strip()


def test_every_name_is_there_typed_and_explained():
    """What the package offers is what its stub declares, and each function and class has a docstring."""
    stub = ast.parse((SRC / "__init__.pyi").read_text(encoding="utf-8"))
    declared = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    offered = set(plimsoll.__all__) - {"__version__"}

    assert declared == offered
    assert all(getattr(plimsoll, name).__doc__ for name in offered)
    assert set(plimsoll.__all__) <= set(dir(plimsoll))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'diagnosed'"):
        plimsoll.diagnosed  # noqa: B018


@pytest.mark.deep
def test_the_types_are_seen_by_a_type_checker(tmp_path: Path):
    """mypy --strict takes right calls of the library, and refuses wrong ones."""
    right = "import plimsoll\ns = plimsoll.read('x')\nd = plimsoll.diagnose(s)\nv: str = d.verdict\n"
    (tmp_path / "right.py").write_text(right)
    (tmp_path / "wrong.py").write_text("import plimsoll\nplimsoll.diagnose('x')\n")

    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "right.py", "wrong.py"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "(checked 2 source files)" in result.stdout
    assert "right.py:" not in result.stdout
    assert 'expected "Snapshot"' in result.stdout


def test_examples_in_docstrings_are_true():
    """The doctests of the library run, and there are some for each verb that needs no server."""
    result = doctest.testmod(library)

    assert 0 == result.failed
    assert result.attempted >= 8


def test_the_guide_runs_as_written(tmp_path: Path, capsys):
    """Every block of Python in the guide runs, in order; the page that it writes is there."""
    for _, lines in blocks(GUIDE.read_text(encoding="utf-8"), "python"):
        exec("\n".join(lines), {})

    assert "binds instance_ebs_throughput" in capsys.readouterr().out
    assert ">Plan<" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_was_found_is_written_in_the_form_of_its_ending(tmp_path: Path):
    """A snapshot comes back as it was; an ending that says no form is refused."""
    snapshot = plimsoll.read("examples/quiet")
    report = plimsoll.Report(diagnosis=plimsoll.diagnose(snapshot), snapshot=snapshot)
    for name in ("a.txt", "a.json", "a.md", "a.html"):
        plimsoll.write(tmp_path / name, report)
    plimsoll.write(tmp_path / "snapshot.json", snapshot)

    assert "plimsoll.report" in (tmp_path / "a.json").read_text()
    assert (tmp_path / "a.md").read_text().startswith("# ")
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "a.txt").read_text() == plimsoll.render(report)
    assert snapshot == decode_snapshot((tmp_path / "snapshot.json").read_bytes())
    with pytest.raises(plimsoll.PlimsollError, match=r"'a\.pdf' selects no form"):
        plimsoll.write(tmp_path / "a.pdf", report)
    assert plimsoll.render(inspections.inspection(), "html").startswith("<!doctype html>")


def test_a_database_is_inspected_against_a_diagnosis(monkeypatch):
    """Alone it has no ceiling, which a note says; with a diagnosis shares are of the one that binds."""
    import databases

    seen = databases.observation(databases.reading(io=()), databases.reading(databases.START_S + 60, io=()))
    monkeypatch.setattr(library, "observe", lambda dsn, seconds, poolers: seen)
    diagnosis = plimsoll.diagnose(plimsoll.read("examples/search-service"))
    alone = plimsoll.inspect("host=db1")
    against = plimsoll.inspect("host=db1", diagnosis=diagnosis)

    assert app_inspect.NO_CEILING.notes[0] in alone.notes
    assert 212.5e6 == against.ceiling_bytes_per_s


def test_nothing_is_printed(capsys):
    """A library leaves standard output and standard error to its caller."""
    snapshot = plimsoll.read("examples/quiet")
    plimsoll.make_plan(plimsoll.diagnose(snapshot), snapshot)

    assert ("", "") == capsys.readouterr()
