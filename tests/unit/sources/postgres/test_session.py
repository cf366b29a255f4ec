"""Connections, and what psycopg logs of them."""

import subprocess
import sys

TELLS = """
import logging
from psycopg.rows import tuple_row
from plimsoll.sources.postgres.session import open_session
from plimsoll.sources.postgres.statements.terms import PACING
try:
    open_session("host=127.0.0.1 port=1", PACING, tuple_row)
except Exception:
    pass
logging.getLogger("psycopg").warning("error ignored terminating a copy")
"""


def test_lines_of_psycopgs_log_are_not_printed():
    """Commands say in a sentence of their own that a connection was lost."""
    found = subprocess.run([sys.executable, "-c", TELLS], capture_output=True, text=True, check=True)

    assert ("", "") == (found.stdout, found.stderr)
