"""Find a Java that runs Spark, and the servers of the lab."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from plimsoll.errors import UsageError

# Kafka 4, OpenSearch 2.19 and Spark 4 run on it (Kafka, "Upgrading to 4.0"; OpenSearch, "Compatible operating
# systems"; Spark, "Downloading").
OLDEST = 17
_HINT = f"Install Java {OLDEST} or newer: sudo apt-get install -y openjdk-17-jre-headless."


def find_java(needed_by: str = "the server") -> Path:
    """
    Return the home of a Java runtime: $JAVA_HOME, or that of the `java` on the path.

    Args:
        needed_by: what needs it, for the message.

    Raises:
        UsageError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin/java")) if home else shutil.which("java")
    if program is None:
        raise UsageError(f"this machine has no Java, which {needed_by} needs", _HINT)
    version = version_of(program)
    if version is None:
        raise UsageError(f"'{program}' is not a Java that can be run", _HINT)
    if version < OLDEST:
        raise UsageError(f"'{program}' is Java {version}, and {needed_by} needs {OLDEST}", _HINT)
    return Path(program).resolve().parents[1]


def version_of(program: str) -> int | None:
    """Return the major version of a Java, for example 17; None if it cannot be run."""
    try:
        done = subprocess.run(  # noqa: S603 - the Java that the user has chosen
            [program, "-version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    # 'openjdk version "17.0.15" 2025-04-15'; up to Java 8 it was "1.8.0_402".
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None
