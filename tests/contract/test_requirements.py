"""The pinned packages of the checks are those that users get."""

import re

from contract.tree import ROOT


def pins(name: str) -> dict[str, str]:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE))


def test_checks_run_with_the_versions_that_users_get():
    """Every package of `make run` has the same version in the packages of `make test`."""
    given, checked = pins("run"), pins("dev")
    assert given
    assert {} == {name: (version, checked.get(name)) for name, version in given.items() if checked.get(name) != version}


def test_spark_is_tested_with_the_versions_that_users_get():
    """The packages of the tests with Spark change none of the others: they have the same versions in both lists."""
    spark, checked = pins("spark"), pins("dev")
    assert "pyspark" in spark
    assert {} == {
        name: (version, checked[name])
        for name, version in spark.items()
        if name in checked and version != checked[name]
    }
