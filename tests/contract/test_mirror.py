"""Unit tests lie where the source lies that they test, so that each is found from the other."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from contract.tree import ROOT, SRC, files

UNIT = ROOT / "tests" / "unit"

# Tests that are named after what they show, across several files. Entries are only ever taken away.
BY_TOPIC = {
    "bench/test_accuracy",
    "causes/statements/test_named_writers",
    "causes/test_io_shares",
    "causes/test_severity",
    "causes/test_standing",
    "causes/toast/test_toast_columns",
    "causes/vacuum/test_vacuum_weight",
    "cli/test_check_command",
    "cli/test_diagnose_dsn",
    "cli/test_extras",
    "cli/test_host_captures",
    "cli/test_open_verdicts",
    "diagnosis/test_aurora",
    "diagnosis/test_edges",
    "diagnosis/test_engines",
    "diagnosis/test_few_samples",
    "diagnosis/test_headroom_aurora",
    "diagnosis/test_hovering",
    "diagnosis/test_latency_step",
    "diagnosis/test_limits_in_turn",
    "diagnosis/test_noise_elsewhere",
    "diagnosis/test_reference",
    "limits/test_engines",
    "limits/test_instance_ebs",
    "limits/test_machine",
    "model/test_nouns",
    "plan/market/test_rules_of_clusters",
    "plan/test_judgements",
    "reports/test_import_cost",
    "sources/aws/test_account_trouble",
    "sources/aws/test_fleet",
    "sources/prometheus/test_fleet",
    "sources/prometheus/test_tls",
}


def test_every_unit_test_mirrors_a_source():
    """tests/unit/a/test_b.py tests src/plimsoll/a/b.py, or the package a/b; bench/ has its tests there too."""
    assert [] == sorted(set(unmirrored(_tests(), _sources())) - BY_TOPIC)


def test_listed_tests_still_mirror_nothing():
    """A test that was moved, renamed or removed is taken off the list too."""
    assert [] == sorted(BY_TOPIC - set(unmirrored(_tests(), _sources())))


def test_a_file_and_a_package_are_mirrored():
    """The folder counts: a source of that name elsewhere does not make a mirror."""
    sources = {"limits/chain", "cli/plan", "bench/rival"}
    tests = [
        "limits/test_chain",
        "cli/test_plan",
        "plan/test_chain",
        "test_chain",
        "bench/test_rival",
    ]

    assert ["plan/test_chain", "test_chain"] == unmirrored(tests, sources)


def unmirrored(tests: Iterable[str], sources: set[str]) -> list[str]:
    """Return the tests, as paths below tests/unit without suffix, that have no source of the same path."""
    paths = ((test, PurePosixPath(test)) for test in tests)
    return [
        test
        for test, path in paths
        if str(path.with_name(path.name.removeprefix("test_"))) not in sources
    ]


def _tests() -> list[str]:
    return [
        _below(path, UNIT)
        for path in files(".py")
        if path.is_relative_to(UNIT) and path.name.startswith("test_")
    ]


def _sources() -> set[str]:
    """Files and packages of the product by their paths below it, and those of bench/ by theirs."""
    code = files(".py")
    product = {_below(path, SRC) for path in code if path.is_relative_to(SRC)}
    bench = {_below(path, ROOT) for path in code if path.is_relative_to(ROOT / "bench")}
    named = product | bench
    return named | {parent for name in named for parent in _folders(name)}


def _folders(name: str) -> set[str]:
    return {str(parent) for parent in PurePosixPath(name).parents} - {".", "bench"}


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()
