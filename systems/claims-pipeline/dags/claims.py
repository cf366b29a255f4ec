"""
Two DAGs, for Airflow 3.3 and 2.11: deliveries from SFTP to PostgreSQL, then the views.

`claims_deliveries` finds what was delivered and is not loaded, and takes each organisation through transfer, load and
check, three organisations at a time. `claims_views` follows each of its runs that loaded something.

Rule 1: nothing is done here. A task runs a command of the pipeline, with the Python environment of the pipeline, as a
        program. Airflow's packages and the pipeline's never meet, so either is upgraded without the other. An
        ExternalPython operator would do that too, but serialises its arguments with a package that both need.
Rule 2: a program ends with its task. Whoever kills the task, kills the program: otherwise the next try runs beside it.
Rule 3: every command may be run again: what is there already is left alone. So a retry needs no clean-up.

The environment variable PIPELINE names the command; settings of the pipeline are its own variables, CLAIMS_*.
"""

from datetime import datetime, timedelta, timezone
from typing import Any

try:
    from airflow.sdk import Asset, Param, dag, get_current_context, task, task_group
except ImportError:  # Airflow 2
    from airflow.datasets import Dataset as Asset
    from airflow.decorators import dag, task, task_group
    from airflow.models.param import Param
    from airflow.operators.python import get_current_context

CLAIMS = Asset("claims://database/claims")
"""The tables of claims: a run of `claims_deliveries` changes them, and `claims_views` waits for that."""
ORGANISATIONS_AT_ONCE = 3
BEGIN = datetime(2023, 1, 1, tzinfo=timezone.utc)  # noqa: UP017 - one form for both versions
DEFAULTS = {"owner": "claims", "retries": 3, "execution_timeout": timedelta(hours=6)}


def pipeline(*words: str) -> str:
    """
    Run a command of the pipeline, with its output in the task's log, and return its standard output.

    Raises:
        RuntimeError: the command ended with another status than 0; its message is the command's own.
    """
    import os
    import shlex
    import subprocess
    import sys

    command = [*shlex.split(os.environ.get("PIPELINE", "claims-pipeline")), *words]
    output = []
    # Standard error goes into the log at once; both together would mix messages into what is read.
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_end_with_task,  # noqa: PLW1509 - it runs one system call
    ) as program:
        assert program.stdout is not None
        try:
            for line in program.stdout:
                sys.stdout.write(line)
                output.append(line)
        except BaseException:
            program.terminate()
            raise
    if program.returncode:
        raise RuntimeError(f"{shlex.join(command)} ended with status {program.returncode}")
    return "".join(output)


def _end_with_task() -> None:
    """Ask the kernel (prctl(2), PR_SET_PDEATHSIG) to end this process when the one that started it dies."""
    import ctypes
    import signal

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


@task
def find() -> list[dict[str, Any]]:
    """Return the deliveries that are complete and not loaded: organisations, each with its months."""
    import json

    found: dict[str, list[str]] = {}
    for delivery in json.loads(pipeline("deliveries", "--json")):
        found.setdefault(delivery["organisation"], []).append(delivery["month"])
    return [{"organisation": name, "months": sorted(found[name])} for name in sorted(found)]


@task(max_active_tis_per_dagrun=ORGANISATIONS_AT_ONCE)
def transfer(delivery: dict[str, Any]) -> None:
    """Copy the files of an organisation from SFTP to S3."""
    for month in delivery["months"]:
        pipeline("transfer", "--organisation", delivery["organisation"], "--month", month)


@task(max_active_tis_per_dagrun=ORGANISATIONS_AT_ONCE)
def load(delivery: dict[str, Any]) -> None:
    """Load them into the database; months in order, because a later one corrects an earlier one."""
    path = get_current_context()["params"]["path"]
    for month in delivery["months"]:
        pipeline("load", delivery["organisation"], month, "--path", path)


@task(max_active_tis_per_dagrun=ORGANISATIONS_AT_ONCE)
def check(delivery: dict[str, Any]) -> str:
    """Test the tables against the manifests, and return the organisation that came to its end."""
    for month in delivery["months"]:
        pipeline("check", delivery["organisation"], month)
    return str(delivery["organisation"])


@task(outlets=[CLAIMS], trigger_rule="all_done")
def announce() -> None:
    """
    Say that tables have changed, once for all organisations.

    Also if one of them failed: its failure must not keep the others' claims from the views. Also if nothing was loaded
    now, but the last refresh failed.
    """
    from airflow.exceptions import AirflowSkipException

    if not pipeline("refresh", "--dry-run").strip():
        raise AirflowSkipException("no view needs a refresh")


@task(trigger_rule="all_done")
def complete(deliveries: list[dict[str, Any]] | None, ended: list[str] | None) -> None:
    """
    Fail if an organisation failed, and name it.

    A run takes its state from its last tasks, and `announce` does not fail with organisations.
    """
    from airflow.exceptions import AirflowFailException

    if deliveries is None:
        raise AirflowFailException("deliveries could not be listed: see the task find")
    failed = sorted({one["organisation"] for one in deliveries} - set(ended or ()))
    if failed:
        raise AirflowFailException(f"not loaded: {', '.join(failed)}; see their tasks in the group organisation")


@task_group
def organisation(delivery: dict[str, Any]) -> Any:
    """Take the deliveries of one organisation through all steps."""
    checked = check(delivery)
    transfer(delivery) >> load(delivery) >> checked
    return checked


@dag(
    schedule="@hourly",
    start_date=BEGIN,
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
    params={
        "path": Param(
            "new", enum=["new", "old"], description="new: the database reads S3. old: the worker formats and copies."
        )
    },
    tags=["claims"],
)
def claims_deliveries() -> None:
    """Load what was delivered."""
    deliveries = find()
    ended = organisation.expand(delivery=deliveries)
    ended >> announce()
    complete(deliveries, ended)


@dag(schedule=[CLAIMS], start_date=BEGIN, catchup=False, max_active_runs=1, default_args=DEFAULTS, tags=["claims"])
def claims_views() -> None:
    """Refresh the views whose tables have changed."""

    @task
    def refresh() -> None:
        """Refresh them in the order of their dependencies."""
        pipeline("refresh")

    @task
    def check_views() -> None:
        """Test that no view is older than the tables it is made from."""
        pipeline("check", "--views")

    refresh() >> check_views()


claims_deliveries()
claims_views()
