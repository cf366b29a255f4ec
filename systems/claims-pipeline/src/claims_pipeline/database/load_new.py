"""
The new path: S3 to S3 through the formatter, then PostgreSQL reads from S3 itself.

Rule 1: nothing is written to a disk of the worker.
"""

from functools import partial

from claims_pipeline.database.connection import Connection
from claims_pipeline.database.formatting import Formatting
from claims_pipeline.database.merge import LINES, ROWS, Counts, Work, merge, stage
from claims_pipeline.delivery import formatted_key, quarantine_key
from claims_pipeline.settings import Settings
from claims_pipeline.storage import Storage, region


def load(settings: Settings, connection: Connection, work: Work, key: str) -> str:
    """Load a file, commit, and return what was done."""
    storage = Storage(settings)
    place = (work.manifest.organisation, work.manifest.month, work.file.name)
    counts = _format(settings, storage, work, key)
    stage(connection, work)
    for table, source in ((ROWS, formatted_key(*place)), (LINES, quarantine_key(*place))):
        connection.execute(
            "SELECT aws_s3.table_import_from_s3(%s, '', '(format csv)', aws_commons.create_s3_uri(%s, %s, %s))",
            (table, storage.bucket, source, region()),
        )
    done = merge(connection, work, counts)
    connection.commit()
    return done


def _format(settings: Settings, storage: Storage, work: Work, key: str) -> Counts:
    place = (work.manifest.organisation, work.manifest.month, work.file.name)
    with Formatting(settings, work, None, key) as formatting:
        return formatting.read(
            rows=partial(storage.upload, formatted_key(*place)), lines=partial(storage.upload, quarantine_key(*place))
        )
