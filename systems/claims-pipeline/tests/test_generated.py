"""Generated deliveries of three organisations, on both paths: every number is the manifest's."""

from collections import Counter

import pytest
from conftest import World
from manifests import ORGANISATIONS, assert_loaded

pytestmark = pytest.mark.xdist_group("faults")


@pytest.mark.parametrize("path", ["new", "old"])
def test_counts_sums_and_defects_are_those_of_the_manifests(world: World, path: str):
    world.run("generate", str(world.folder), "--beneficiaries", "150", "--seed", "7")
    world.run("transfer")
    checked = Counter[str]()
    for organisation in ORGANISATIONS:
        for month in ("2023-01", "2023-02"):
            world.run("load", organisation, month, "--path", path)
            # Here, because the next delivery of beneficiaries replaces rows.
            checked += assert_loaded(world, organisation, month)

    assert {"bad date", "duplicate"} <= set(checked)
