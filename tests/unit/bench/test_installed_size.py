"""The size of an installation, on packages of a few requirements."""

from types import SimpleNamespace
from typing import Any

from installed_size import NOTHING, Size, needed


def packages(**requires: list[str]) -> Any:
    return {name: SimpleNamespace(requires=requires[name]) for name in requires}


def test_what_packages_require_is_counted_once_and_extras_only_where_asked():
    found = packages(a=["b", "c>=1; extra == 'more'", "d; python_version < '3'"], b=["a"], c=["b"], d=[], e=[])

    assert {"a", "b"} == needed(["a"], found)
    assert {"a", "b", "c"} == needed(["a[more]"], found)


def test_a_package_that_is_not_there_takes_nothing():
    assert set() == needed(["absent>=2"], packages(a=[]))


def test_bytecode_is_kept_apart_and_added_to_the_whole():
    total = sum((Size(2_000_000, 500_000), Size(1_000_000, 0)), NOTHING)

    assert (3_000_000, 500_000) == total
    assert 3.5 == total.whole_mb
