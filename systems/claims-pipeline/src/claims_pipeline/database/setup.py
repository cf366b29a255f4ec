"""Create the tables, the bucket and the import from S3. What exists stays as it is."""

import argparse
import sys
from pathlib import Path

from psycopg.sql import SQL, Literal

from claims_pipeline.database.connection import Connection, connected
from claims_pipeline.database.tables import statements
from claims_pipeline.delivery import check_names
from claims_pipeline.errors import SettingsError
from claims_pipeline.programs import with_keys
from claims_pipeline.settings import Settings
from claims_pipeline.storage import Storage

ORGANISATIONS = ("A1001", "A1002", "A1003")
EXTENSION = Path(__file__).parents[3] / "extension"
"""Scripts of the extensions for PostgreSQL that is not RDS."""
SCRIPTS = ("aws_commons--1.2.sql", "aws_s3--1.2.sql")
KEYS = "claims-fetch.credentials"
"""File with keys in the server's data directory, which only its account reads."""
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('claims-pipeline setup', 0))"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--organisation",
        metavar="ID",
        action="append",
        help=f"create its partitions; repeatable (default: {', '.join(ORGANISATIONS)})",
    )
    parser.add_argument("--fetch", metavar="PATH", help="claims-fetch as the server finds it (default: on its PATH)")
    parser.add_argument("--credentials-file", metavar="PATH", help="file with keys of S3 on the server")
    parser.add_argument(
        "--send-keys", action="store_true", help="write our keys of S3 into a file in the server's data directory"
    )


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Set up, and say what is there."""
    organisations = arguments.organisation or list(ORGANISATIONS)
    for organisation in organisations:
        check_names(organisation, "2000-01")
    Storage(settings).prepare()
    with connected(settings) as connection:
        # Two at the same time would both find nothing and then collide.
        connection.execute(LOCK)
        for statement in statements(organisations):
            connection.execute(statement)
        origin = install(connection)
        if origin != "RDS":
            file = _keys(connection) if arguments.send_keys else arguments.credentials_file
            configure(connection, settings, arguments.fetch, file)
    whose = "RDS's" if origin == "RDS" else "ours"
    sys.stdout.write(f"tables for {', '.join(organisations)} are there; the import from S3 is {whose}\n")
    return 0


def install(connection: Connection) -> str:
    """Create the functions that import from S3 if they are not there; return whose they are."""
    if _one(connection, "SELECT to_regclass('aws_s3.settings')") is not None:
        return "ours"
    if _one(connection, "SELECT 1 FROM pg_extension WHERE extname = 'aws_s3'") is not None:
        return "RDS"
    if _one(connection, "SELECT 1 FROM pg_available_extensions WHERE name = 'aws_s3'") is not None:
        connection.execute("CREATE EXTENSION aws_s3 CASCADE")
        return "ours" if _one(connection, "SELECT to_regclass('aws_s3.settings')") else "RDS"
    connection.execute("CREATE EXTENSION IF NOT EXISTS file_fdw")
    for name in SCRIPTS:
        # One string without parameters: PostgreSQL takes all its statements.
        connection.execute((EXTENSION / name).read_bytes())
    return "ours"


def configure(connection: Connection, settings: Settings, program: str | None, credentials_file: str | None) -> None:
    """Tell our import which S3 it reads, with which program and keys; None leaves what is set."""
    connection.execute(
        "UPDATE aws_s3.settings SET endpoint = %s, program = coalesce(%s, program),"
        " credentials_file = coalesce(%s, credentials_file)",
        (settings.s3_endpoint, program, credentials_file),
    )


def _keys(connection: Connection) -> str:
    """Write our keys into a file of the server, and return its path; they are parameters, no text of a statement."""
    keys = with_keys()
    if "AWS_SECRET_ACCESS_KEY" not in keys:
        raise SettingsError("there are no keys of S3", "Set AWS_ACCESS_KEY_ID and its secret.")
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    lines = ["[default]", *(f"{name.lower()} = {keys[name]}" for name in names if name in keys)]
    path = f"{_one(connection, 'SHOW data_directory')}/{KEYS}"
    connection.execute("CREATE TEMP TABLE sent (number int, line text) ON COMMIT DROP")
    for number, line in enumerate(lines):
        connection.execute("INSERT INTO sent VALUES (%s, %s)", (number, line))
    connection.execute(SQL("COPY (SELECT line FROM sent ORDER BY number) TO {}").format(Literal(path)))
    return path


def _one(connection: Connection, query: str) -> object:
    found = connection.execute(query.encode()).fetchone()
    return None if found is None else found[0]
