"""Names of classes, as people write them and as RDS does."""

import pytest

from plimsoll.catalog.names import class_name, size_order, smallest_first


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((text, "db.r5.2xlarge") for text in ("db.r5.2xlarge", "r5.2xlarge", " DB.R5.2XLARGE ", "R5.2xlarge")),
        # RDS drops the d of x2gd.
        ("x2gd.large", "db.x2g.large"),
    ],
)
def test_prefix_and_case_do_not_matter(text: str, name: str):
    """A class is found with and without its prefix, in any case."""
    assert class_name(text) == name


def test_sizes_sort_from_nano_to_metal():
    """Classes of a family are sorted by size, not by letters."""
    sizes = ["metal", "24xlarge", "2xlarge", "xlarge", "large", "medium", "small", "micro", "nano"]

    assert sorted((f"db.t3.{size}" for size in sizes), key=size_order) == [f"db.t3.{size}" for size in reversed(sizes)]


def test_classes_of_all_families_sort_by_size_then_newest_generation():
    """Of one size the newest generation comes first; the letters decide last."""
    names = ["db.m6g.large", "db.r8g.large", "db.t4g.medium", "db.m6i.large", "db.m8g.16xlarge"]

    assert sorted(names, key=smallest_first) == [
        "db.t4g.medium",
        "db.r8g.large",
        "db.m6g.large",
        "db.m6i.large",
        "db.m8g.16xlarge",
    ]
