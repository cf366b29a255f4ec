"""
What a Spark master URL means for a session that starts here.

Rule: a master on this machine opens no port beyond loopback. Any other master is as its administrator set it up.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

CONNECT = "sc://"
CONNECT_PORT = 15_002
"""Default port of Spark Connect."""
LOOPBACK = "127.0.0.1"
# Spark's own default for a task on a cluster (spark.task.maxFailures).
TASK_FAILURES = 4

# These configure Spark for a process: with one of them set, its master is theirs to choose.
_CONFIGURING = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")
_REMOTE = "SPARK_REMOTE"
_THREADS = re.compile(r"local(?:\[(\d+|\*)\])?")
_STANDALONE = "spark://"


def chosen_master(given: str | None, environment: Mapping[str, str]) -> str | None:
    """
    Return the master to use; None leaves it to spark-submit or to Spark's configuration.

    Args:
        given: `--spark-master`.
        environment: variables of this process.
    """
    if given:
        return _with_retries(given)
    if remote := environment.get(_REMOTE):
        return remote
    if any(name in environment for name in _CONFIGURING):
        return None
    return _with_retries("local[*]")


def is_connect(master: str | None) -> bool:
    """Return whether a master is a server of Spark Connect, so that no Java is needed here."""
    return master is not None and master.startswith(CONNECT)


def is_local(master: str | None) -> bool:
    """Return whether a master and its executors are processes of this machine."""
    return master is not None and master.startswith("local")


def starts_java(master: str | None, environment: Mapping[str, str]) -> bool:
    """Return whether a session starts a Java process here; spark-submit has started one."""
    return not is_connect(master) and "PYSPARK_GATEWAY_PORT" not in environment


def addresses(master: str | None) -> list[tuple[str, int]]:
    """Return the hosts and ports that must answer before a session starts; none if Spark finds them itself."""
    if is_connect(master):
        parts = urlsplit(str(master))
        return [(parts.hostname, parts.port or CONNECT_PORT)] if parts.hostname else []
    if master is None or not master.startswith(_STANDALONE):
        return []
    found = [one.rpartition(":") for one in master.removeprefix(_STANDALONE).split(",")]
    return [(host, int(port)) for host, _, port in found if host and port.isdecimal()]


def settings(master: str | None) -> dict[str, str]:
    """Return the configuration of a session on a master: nothing of it listens beyond loopback if it is local."""
    if not is_local(master):
        return {}
    return {"spark.driver.bindAddress": LOOPBACK, "spark.driver.host": LOOPBACK, "spark.ui.enabled": "false"}


def _with_retries(master: str) -> str:
    """Return `local[N]` with retries: Spark gives a failed task no second try there unless it is asked to."""
    found = _THREADS.fullmatch(master)
    return f"local[{found[1] or 1},{TASK_FAILURES}]" if found else master
