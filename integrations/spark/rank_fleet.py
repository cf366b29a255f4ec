"""
Rank a lake on the Spark that runs this program, and write the table (docs/guides/fleet-on-spark.md).

The program ends with status 0 if the table was written, also where a limit binds: a platform takes any
other status for a failed job. Options that it does not know are those of the platform, and are ignored.
"""

import argparse
import sys
from pathlib import PurePosixPath

from plimsoll.app.lake.ingest import open_lake
from plimsoll.app.lake.run import SPARK, run_fleet, table_bytes
from plimsoll.errors import PlimsollError
from plimsoll.fleet.place import LakePlace

FORMS = ("csv", "json", "parquet")


def main() -> None:
    """Read the options, rank, and write."""
    parser = argparse.ArgumentParser(description="Rank a lake on Spark.", allow_abbrev=False)
    parser.add_argument("--lake", required=True, help="folder or s3://bucket/prefix")
    parser.add_argument("--table", required=True, help="file or s3://bucket/key to write")
    parser.add_argument("--last", help="length of the window, for example 14d")
    parser.add_argument("--no-plan", action="store_true", help="leave the plans out")
    given, _ = parser.parse_known_args()
    form = PurePosixPath(given.table).suffix.removeprefix(".")
    if form not in FORMS:
        parser.error(f"--table must end in {', '.join(FORMS)}")
    try:
        window = (given.last, None, None)
        lake = open_lake(given.lake)
        table, report = run_fleet(lake, window, has_plan=not given.no_plan, engine=SPARK)
        folder, _, name = given.table.rpartition("/")
        LakePlace(folder or ".").write(name, table_bytes(table, report, form))
    except PlimsollError as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        sys.exit(2)
    print(f"{table.num_rows} instances in {given.table}")  # noqa: T201 -- the log of the job


if __name__ == "__main__":
    main()
