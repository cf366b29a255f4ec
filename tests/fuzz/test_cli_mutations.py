"""Whatever an export is damaged by, `plimsoll diagnose` answers with a report or one clear sentence."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fuzz import mutations
from fuzz.mutations import Mutant
from plimsoll.cli.commands import app
from plimsoll.errors import PlimsollError

FLAGS = ("--class", "db.r5.2xlarge", "--engine", "postgres", "--storage", "gp2")


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> list[Mutant]:
    return mutations.write_mutants(tmp_path_factory.mktemp("mutants"), with_large=False)


def assert_clear(error: PlimsollError) -> None:
    assert error.message.isprintable()
    assert error.hint.isprintable()
    assert error.hint.endswith(".")


def answer_to(path: Path, form: str) -> int:
    """The exit status of the command; 2 where it ended in one cause and one hint."""
    arguments = ["diagnose", str(path), "--format", form, "--size-gib", "1000", *FLAGS]
    try:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    except PlimsollError as error:
        assert_clear(error)
        return 2
    assert result.stdout.strip()
    return result.exit_code


def test_every_mutant_has_an_exit_status(mutants):
    """At least 200 damaged exports end with 0, 1 or 2, and no other exception or warning than our own."""
    statuses: dict[int, int] = {}
    for index, mutant in enumerate(mutants):
        form = ("text", "json", "markdown")[index % 3]
        try:
            status = answer_to(mutant.path, form)
        except BaseException as error:
            raise AssertionError(f"{mutant.name} as {form}: {mutant.path}") from error
        assert status in (0, 1, 2), mutant.name
        statuses[status] = statuses.get(status, 0) + 1

    assert len(mutants) >= 200
    # Most damage costs samples, not the answer; and some of it costs the answer.
    assert statuses[0] + statuses.get(1, 0) > len(mutants) // 5
    assert statuses[2] > len(mutants) // 10


def test_a_hundred_megabytes_have_an_exit_status(tmp_path):
    """A file of 100 MB that is no export is refused like a small one."""
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(mutations.LARGE_BYTES)

    assert 2 == answer_to(path, "text")
