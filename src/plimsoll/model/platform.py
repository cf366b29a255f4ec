"""The platforms that PostgreSQL is run on, and the marks by which each is known from inside."""

from collections.abc import Iterable
from enum import StrEnum


class Platform(StrEnum):
    """Who keeps the configuration of a server, and so how a setting is changed."""

    PLAIN = ""
    """The server itself: ALTER SYSTEM."""
    FILE = "file"
    """Its operator, in files: ALTER SYSTEM is switched off (17 and later)."""
    RDS = "rds"
    RDS_CLUSTER = "rds-cluster"
    """A Multi-AZ DB cluster, which has a parameter group of its own kind."""
    AURORA = "aurora"
    CLOUD_SQL = "cloud-sql"
    ALLOYDB = "alloydb"
    AZURE = "azure"
    """Azure Database for PostgreSQL, flexible server."""
    CLOUDNATIVE_PG = "cloudnative-pg"
    OTHER = "other"
    """Another provider that keeps the configuration."""


# Narrower platforms first: Aurora has the marks of RDS, AlloyDB those of Cloud SQL. A mark is the prefix of a
# setting, a superuser of the provider or a function that only it has (Aurora and Azure documentation, source of
# CloudNativePG, read 2026-11).
_MARKS = (
    ("aurora", Platform.AURORA),
    ("rds", Platform.RDS),
    ("rdsadmin", Platform.RDS),
    ("alloydb", Platform.ALLOYDB),
    ("alloydbadmin", Platform.ALLOYDB),
    ("cloudsql", Platform.CLOUD_SQL),
    ("cloudsqladmin", Platform.CLOUD_SQL),
    ("azure", Platform.AZURE),
    ("azuresu", Platform.AZURE),
    ("cnpg", Platform.CLOUDNATIVE_PG),
    ("neon", Platform.OTHER),
    ("supautils", Platform.OTHER),
    ("supabase_admin", Platform.OTHER),
    ("file", Platform.FILE),
)


def platform_of(marks: Iterable[str]) -> Platform:
    """Return the platform with these marks; plain if there is none."""
    found = set(marks)
    return next((platform for mark, platform in _MARKS if mark in found), Platform.PLAIN)
