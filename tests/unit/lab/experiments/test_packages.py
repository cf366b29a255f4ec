"""The packages of a published system, set up by whoever comes first."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from plimsoll.errors import SourceError
from plimsoll_lab.experiments.packages import set_up_packages

# mkdir(1) fails where another one works.
ALONE = """
.venv/run:
	@mkdir .venv; sleep 0.2; mkdir .venv/bin; touch .venv/bin/python .venv/run; echo once >> made
"""


def test_of_several_at_once_one_sets_up(tmp_path: Path):
    """Two experiments of one system may be started at once; both find it set up."""
    (tmp_path / "Makefile").write_text(ALONE)
    lines: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: set_up_packages(tmp_path, "the system", lines.append), range(4)))

    assert "once\n" == (tmp_path / "made").read_text()
    assert ["setting up the system, once"] == lines


@pytest.mark.parametrize("left", ["nothing", "no link", "a link to a Python that is gone"])
def test_a_stamp_without_its_python_is_not_believed(tmp_path: Path, left: str):
    """As in a copy of the folder, or when the machine has another Python now."""
    (tmp_path / "Makefile").write_text(ALONE)
    python = tmp_path / ".venv/bin/python"
    if left != "nothing":
        python.parent.mkdir(parents=True)
        (tmp_path / ".venv/run").touch()
    if left.startswith("a link"):
        python.symlink_to(tmp_path / "gone")

    set_up_packages(tmp_path, "the system", print)

    assert python.exists()


def test_an_environment_without_the_stamp_is_left_alone(tmp_path: Path):
    """`--system` may name a folder of somebody else, with an environment of its own."""
    (tmp_path / "Makefile").write_text(".venv/run:\n\t@exit 1\n")
    theirs = tmp_path / ".venv/lib/theirs"
    theirs.mkdir(parents=True)

    with pytest.raises(SourceError):
        set_up_packages(tmp_path, "the system", print)

    assert theirs.exists()


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (".venv/run:\n\t@echo 'no such package' >&2; exit 1\n", "no such package"),
        (".venv/run: no-such-file\n", "No rule to make target 'no-such-file'"),
    ],
)
def test_why_it_cannot_be_set_up_is_said(tmp_path: Path, rule: str, reason: str):
    """The last line that is not make's own; make's where it is the only one that speaks."""
    (tmp_path / "Makefile").write_text(rule)

    with pytest.raises(SourceError, match=f"the system cannot be set up: .*{reason}"):
        set_up_packages(tmp_path, "the system", print)
