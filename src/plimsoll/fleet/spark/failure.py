"""Turn what Spark raises, pages of Java, into one sentence and a hint."""

import re

from plimsoll.errors import ExtraMissing, PlimsollError, SourceError, Unreachable, UsageError
from plimsoll.fleet.spark.task import reason_in

_GUIDE = "See 'plimsoll docs fleet-on-spark'."
_NOT_A_MASTER = ("Could not parse Master URL", "Master must either be", "Master should start with")
_ENDED_BY_MASTER = ("All masters are unresponsive", "Master removed our application")
_KILLED = ("exited unexpectedly", "ExecutorLostFailure", "SIGKILL", "OutOfMemory")
_LACKS = re.compile(r"(?:No module named|Can't get attribute.*from) '(\w+)")
_OTHER_PYTHON = re.compile(r"different minor version than that in driver:? ?[^.]*\.[^.]*")
_CAUSE = re.compile(r"^(?:Caused by: )?(?:[\w.$]+(?:Exception|Error)): *(.+)$", re.MULTILINE)
# A judgement: two or three lines of a terminal; Java names whole classes.
_LONGEST = 300


def failure_of(error: Exception, log: str, master: str | None) -> PlimsollError:
    """
    Return the error of ours that says what failed.

    Args:
        error: from pyspark.
        log: what the Java process wrote; empty if there was none.
        master: as it was given to Spark.
    """
    text = f"{error}\n{log}"
    if found := reason_in(text):
        return found
    if any(part in text for part in _NOT_A_MASTER):
        return UsageError(
            f"'{master}' is not a Spark master", "For example local[4], spark://host:7077, yarn or sc://host:15002."
        )
    if any(part in text for part in _ENDED_BY_MASTER):
        return Unreachable(
            f"the Spark master '{master}' did not accept the run",
            "Check that it is running, and of the same version as pyspark here.",
        )
    if isinstance(error, ImportError):
        return ExtraMissing.naming(f"the Spark engine ({_line(str(error))})", "spark")
    if lacking := _LACKS.search(text):
        return UsageError(
            f"the executors cannot import '{lacking[1]}'", f"Install Plimsoll with its extra 'fleet' there. {_GUIDE}"
        )
    if "PYTHON_VERSION_MISMATCH" in text or _OTHER_PYTHON.search(text):
        return UsageError(
            "the executors have another version of Python than this process",
            f"Use the same one, and name it in PYSPARK_PYTHON. {_GUIDE}",
        )
    if any(part in str(error) for part in _KILLED):
        return SourceError(
            "tasks of Spark were killed again and again",
            "Executors may be short of memory: give them more, or judge a shorter window with --last.",
        )
    return SourceError(f"Spark failed: {_line(_cause(str(error)) or _cause(log) or text)}", _GUIDE)


def _cause(text: str) -> str:
    """Return what the last exception of a text says, or nothing."""
    causes = _CAUSE.findall(text)
    return causes[-1] if causes else ""


def _line(text: str) -> str:
    """Return a text on one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
