"""Whatever an export is damaged by, the answer is a snapshot or one clear sentence."""

import resource

import pytest

from fuzz import mutations
from fuzz.answers import checked
from fuzz.mutations import Mutant
from plimsoll.sources.targets.one import read


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> list[Mutant]:
    return mutations.write_mutants(tmp_path_factory.mktemp("mutants"), with_large=False)


def test_every_mutant_gives_a_snapshot_or_one_sentence(mutants):
    """No damage leads to a traceback, and what is read can be recorded and read again."""
    snapshots = 0
    for mutant in mutants:
        try:
            snapshots += checked(lambda mutant=mutant: read(mutant.path)) is not None
        except BaseException as error:
            raise AssertionError(mutant.name) from error

    # Most damage is local: it costs samples, not the export.
    assert snapshots > len(mutants) // 3


def test_the_same_seed_gives_the_same_bytes(tmp_path, mutants):
    again = mutations.write_mutants(tmp_path, with_large=False)

    assert [m.name for m in again] == [m.name for m in mutants]
    for old, new in zip(mutants, again, strict=True):
        if old.path.is_file():
            assert new.path.read_bytes() == old.path.read_bytes(), old.name


@pytest.mark.parametrize("name", ["_json_spill", "_large_answer", "_large_lines", "sparse"])
def test_a_hundred_megabytes_take_bounded_memory(tmp_path, name):
    """The largest mutants are answered within 1.5 GB above what was in use before."""
    path = tmp_path / f"large{name}.json"
    if name == "sparse":
        with path.open("wb") as file:
            file.truncate(mutations.LARGE_BYTES)
    else:
        path.write_bytes(getattr(mutations, name)())
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    checked(lambda: read(path))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib

    assert grown_kib < 1_500_000
