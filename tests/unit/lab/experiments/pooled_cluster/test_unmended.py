"""The Pgpool-II without the fix: built once, and what is said if that fails."""

from pathlib import Path

import pytest

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.experiments.pooled_cluster.unmended import have_unmended
from programs import script


def test_it_is_built_once(tmp_path: Path):
    """The second time nothing is said and nothing is run."""
    program = tmp_path / "pgpool"
    build, lines = script(tmp_path / "build", f"echo built >> {program}"), []
    have_unmended(program, build, lines.append)
    have_unmended(program, build, lines.append)

    assert "built\n" == program.read_text(encoding="utf-8")
    assert 1 == len(lines)
    assert "once" in lines[0]


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("echo 'error: cc is missing' >&2; echo 'hint: Install gcc.' >&2; exit 2", "cc is missing", "Install gcc."),
        ("echo 'make: no rule' >&2; exit 1", "make: no rule", "Try it by hand: "),
        ("exit 1", "it gave no reason", "Try it by hand: "),
        ("exit 0", "it gave no reason", "Try it by hand: "),
    ],
)
def test_a_build_that_fails_says_why(tmp_path: Path, text: str, reason: str, hint: str):
    """In the words of the script, where it has some."""
    with pytest.raises(SourceError) as raised:
        have_unmended(tmp_path / "pgpool", script(tmp_path / "build", text), print)

    message = f"unable to build Pgpool-II without the fix of 2020: {reason}"
    assert message == raised.value.message
    assert raised.value.hint.startswith(hint)


@pytest.mark.parametrize("name", [None, "absent"])
def test_without_a_script_it_is_said_where_it_is_made(tmp_path: Path, name: str | None):
    with pytest.raises(UsageError, match="there is no Pgpool-II without the fix of 2020 at"):
        have_unmended(tmp_path / "pgpool", tmp_path / name if name else None, print)
