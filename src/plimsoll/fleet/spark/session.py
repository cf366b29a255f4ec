"""
Start a Spark session, and end it with everything that it started.

Rule 1: a session that was open before, for example a notebook's, is used and stays open.
Rule 2: when the block ends, by a result, an error or Ctrl-C, no Java process of it is left.
Rule 3: Spark's log never reaches the terminal. Its last error does, as one sentence.
"""

import importlib.util
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from plimsoll.errors import ExtraMissing, PlimsollError, Unreachable, UsageError
from plimsoll.fleet.spark.failure import failure_of
from plimsoll.fleet.spark.master import LOOPBACK, addresses, chosen_master, is_connect, is_local, settings

# A judgement: a server that is there takes a connection in less than a second, from another continent too.
_CONNECT_S = 10.0
# Spark ends within a second or two, and takes its executors with it. A machine that is overloaded takes longer, and
# executors whose driver was killed end later, by themselves.
_END_S = 60.0
_CLUSTER_HERE = "local-cluster"
_T = TypeVar("_T")


def require_pyspark() -> None:
    """
    Check that pyspark is there; a cluster brings its own.

    Raises:
        ExtraMissing: it is not.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise ExtraMissing.naming("the Spark engine", "spark")


@contextmanager
def spark_session(master: str | None) -> Iterator[Any]:
    """
    Yield a Spark session; what Spark raises in the block becomes an error of ours.

    Args:
        master: as of `run_spark`.

    Raises:
        ExtraMissing: pyspark is not installed.
        UsageError: the master is not valid, or another one is in use.
        SourceError: Spark failed.
        Unreachable: the master does not answer.
    """
    require_pyspark()
    opened = _open_session()
    if opened is not None and master:
        raise UsageError(
            "a Spark session is open, and its master cannot be changed", "Leave out the master, or stop the session."
        )
    chosen = chosen_master(master, os.environ)
    with tempfile.TemporaryFile("w+") as log, _environment(chosen), _quiet():
        if opened is not None:
            with _named(chosen, log):
                yield opened
        elif is_connect(chosen):
            yield from _connected(str(chosen), log)
        else:
            yield from _started(chosen, log)


def _open_session() -> Any:
    """Return the session of this process, for example of a notebook; None if there is none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:  # noqa: SLF001 -- asking in public would start one
        return SparkSession.builder.getOrCreate()
    return SparkSession.getActiveSession()


def in_thread(work: Callable[[], _T]) -> "Future[_T]":
    """
    Call a function in a thread of its own.

    Ctrl-C then interrupts the wait for it, and not a request to Java, which would mix up the answers after it.
    """
    future: Future[_T] = Future()

    def call() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 -- the one who waits is told
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future


@contextmanager
def _named(master: str | None, log: IO[str]) -> Iterator[None]:
    """
    Turn what Spark raises into an error of ours.

    This must happen while the Java process is there: the text of its exceptions is fetched from it.
    """
    try:
        yield
    except PlimsollError:
        raise
    except Exception as error:
        raise failure_of(error, _text(log), master) from error


def _connected(master: str, log: IO[str]) -> Iterator[Any]:
    _check_reachable(master)
    try:
        import pyspark.sql.connect.session  # noqa: F401 -- it needs packages that pyspark can be installed without
    except ImportError as error:
        raise ExtraMissing.naming("Spark Connect", "spark") from error
    from pyspark.sql import SparkSession

    with _named(master, log):
        session = SparkSession.builder.remote(master).getOrCreate()
    try:
        with _named(master, log):
            yield session
    except BaseException:
        with suppress(Exception):
            session.interruptAll()
        raise
    finally:
        with suppress(Exception):
            session.stop()


def _started(master: str | None, log: IO[str]) -> Iterator[Any]:
    """Yield a session in a Java process of its own, or of spark-submit."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _check_reachable(master)
    conf = SparkConf(loadDefaults=False).setAppName("plimsoll fleet")
    if master is not None:
        conf.setMaster(master)
    conf.setAll(list(settings(master).items()))
    session: Any = None
    launched = in_thread(lambda: launch_gateway(conf, {"stdout": log, "stderr": log}))
    try:
        with _named(master, log):
            gateway = launched.result()
    except KeyboardInterrupt:
        # It knows its process only when that has answered.
        with suppress(Exception):
            _end(launched.result())
        raise
    try:
        with _named(master, log):
            # In the main thread it would also replace the handler of Ctrl-C.
            started = in_thread(lambda: SparkSession(SparkContext(gateway=gateway, conf=conf)))
            session = started.result()
            yield session
    finally:
        with suppress(Exception):
            session.stop()
        _end(gateway)


def _end(gateway: Any) -> None:
    """End the Java process of a gateway; one of spark-submit goes on, because it waits for us."""
    from pyspark import SparkContext

    process: subprocess.Popen[bytes] | None = gateway.proc
    if process is None:
        return
    with suppress(Exception):
        gateway.shutdown()
    # A later session in this process then starts a Java process of its own.
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 -- there is no public way
    if process.stdin is not None:
        process.stdin.close()  # the Java process ends when it reads the end of this pipe
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _check_reachable(master: str | None) -> None:
    """
    Connect once to a master: Spark itself tries for minutes.

    Raises:
        Unreachable: none of its addresses answers.
    """
    reasons = []
    for host, port in addresses(master):
        try:
            socket.create_connection((host, port), _CONNECT_S).close()
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    if reasons:
        raise Unreachable(
            f"unable to reach the Spark master '{master}': {'; '.join(reasons)}",
            "Check its host and port, and that it is running.",
        )


@contextmanager
def _environment(master: str | None) -> Iterator[None]:
    """Set the variables that Spark reads when it starts, and set them back."""
    before = dict(os.environ)
    home = None
    if not is_connect(master):
        os.environ.pop("SPARK_REMOTE", None)  # with it, pyspark refuses any other master
    if is_local(master):
        # The workers have what this process has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    if master is not None and master.startswith(_CLUSTER_HERE):
        home = tempfile.mkdtemp(prefix="plimsoll-spark-")
        os.environ["SPARK_HOME"] = str(_home_in(Path(home)))
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)


def _home_in(folder: Path) -> Path:
    """Return a home of Spark with links to the installed one: executors of local-cluster write into it."""
    from pyspark.find_spark_home import _find_spark_home

    for part in Path(_find_spark_home()).iterdir():
        if part.name != "work":
            (folder / part.name).symlink_to(part)
    return folder


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the logs of the bridge to Java, which reports every broken connection, from standard error."""
    loggers = [logging.getLogger(name) for name in ("py4j", "pyspark")]
    before = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for one, level in zip(loggers, before, strict=True):
            one.setLevel(level)


def _text(log: IO[str]) -> str:
    log.flush()
    log.seek(0)
    return log.read()
