"""The names of instance classes: from what people type to the names that RDS uses."""

import re

# RDS drops the 'd' of this family although the instances have local disks (RDS User Guide,
# DB instance classes): db.x2g.large runs on x2gd.large.
_RDS_FAMILY_OF_EC2 = {"x2gd": "x2g"}
_GENERATION = re.compile(r"[a-z]+(\d+)")


def class_name(text: str) -> str:
    """Return the RDS name of a class: `db.r5.2xlarge` for `R5.2xlarge`, `db.x2g.large` for `x2gd.large`."""
    name = text.strip().lower().removeprefix("db.")
    family, dot, size = name.partition(".")
    return f"db.{_RDS_FAMILY_OF_EC2.get(family, family)}{dot}{size}"


def size_order(db_class: str) -> tuple[str, float, str]:
    """Return a key that sorts classes by family, then by size from nano to metal."""
    _, _, rest = db_class.partition(".")
    family, _, size = rest.partition(".")
    head = size.partition(".")[0]
    small = ("nano", "micro", "small", "medium", "large", "xlarge")
    if head in small:
        return family, float(small.index(head)), size
    digits = head.removesuffix("xlarge")
    # `xlarge` has rank 5, so N xlarge with N ≥ 2 follow it in order of N.
    if digits.isdigit():
        return family, 5.0 + int(digits), size
    # `metal` is a whole host, which no other size of the family exceeds.
    return family, 1e6, size


def smallest_first(db_class: str) -> tuple[float, int, str]:
    """Return a key that sorts classes of all families by size; of one size the newest generation comes first."""
    family, rank, _ = size_order(db_class)
    found = _GENERATION.match(family)
    return rank, -int(found[1]) if found else 0, db_class


def wait_family(engine: str) -> str:
    """Return whose wait events an engine has: `mysql` for `mariadb` and `aurora-mysql`; empty if unknown."""
    name = engine.lower().removeprefix("aurora-").removeprefix("custom-")
    if name in ("aurora", "mysql", "mariadb"):  # `aurora` alone is Aurora MySQL 1
        return "mysql"
    if name in ("postgres", "postgresql"):
        return "postgres"
    return next((family for family in ("oracle", "sqlserver") if name.startswith(family)), "")
