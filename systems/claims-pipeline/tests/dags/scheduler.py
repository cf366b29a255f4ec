"""A real Airflow: scheduler, DAG processor and (from 3 on) API server on PostgreSQL, on loopback only."""

import base64
import contextlib
import http.client
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from servers import ROOT, query, wait_for

# Far longer than anything takes on an idle machine.
PATIENCE_S = 300.0
ENDED = ("success", "failed")


class Airflow:
    """
    One Airflow, of the environment `.airflow-2` or `.airflow-3`, with a folder, a database and processes of its own.
    """

    def __init__(self, version: int, home: Path, postgres: str) -> None:
        program = ROOT / f".airflow-{version}/bin/python"
        assert program.exists(), f"install Airflow {version} with: make .airflow-{version}/done"
        self._command = [str(program), "-m", "airflow"]
        self.home, self.version = home, version
        self.database = f"{postgres.rpartition('/')[0]}/airflow{version}"
        query(postgres, f"CREATE DATABASE airflow{version}")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self._port = int(taken.getsockname()[1])
        clean = {n: v for n, v in os.environ.items() if not n.startswith(("CLAIMS_", "AWS_"))}
        self._environment = {**clean, **self._settings()}
        self._processes: list[subprocess.Popen[bytes]] = []

    def _settings(self) -> dict[str, str]:
        api = f"http://127.0.0.1:{self._port}/execution/"
        return {
            "PIPELINE": str(self.home / "pipeline"),
            "PYTHONWARNINGS": "ignore",
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__API__SECRET_KEY": secrets.token_hex(32),
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "1",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": api,
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.database.replace("postgresql://", "postgresql+psycopg2://"),
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(self.home / "logs"),
            "AIRFLOW__SCHEDULER__PARSING_PROCESSES": "1",
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "AIRFLOW__SCHEDULER__STANDALONE_DAG_PROCESSOR": "True",
            "AIRFLOW__SCHEDULER__USAGE_DATA_COLLECTION_ENABLED": "False",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "AIRFLOW__WEBSERVER__SECRET_KEY": secrets.token_hex(32),
        }

    def use(self, settings: Mapping[str, str]) -> None:
        """Give tasks that begin from now on the settings of a test."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
        run = f"exec {shlex.quote(sys.executable)} -m claims_pipeline"
        source = f"export PYTHONPATH={shlex.quote(str(ROOT / 'src'))}"
        program = self.home / "pipeline"
        program.write_text("\n".join(["#!/bin/sh", *lines, source, f'{run} "$@"', ""]))
        program.chmod(0o755)

    def start(self) -> None:
        """Create the tables, start the processes, and wait until both DAGs are known and run."""
        self.airflow("db", "migrate")
        if self.version >= 3:
            self._spawn("api-server", "--host", "127.0.0.1", "--port", str(self._port), "--workers", "1")
            # Tasks that begin before it answers are given up.
            self.wait("the API server", self._api_answers)
        self._spawn("dag-processor")
        known = "SELECT 1 FROM dag WHERE dag_id LIKE 'claims_%%'"
        self.wait("the DAGs", lambda: len(query(self.database, known)) == 2)
        self._spawn("scheduler", "--skip-serve-logs")

    def airflow(self, *words: str) -> str:
        """Run a command of Airflow, and return what it prints."""
        done = subprocess.run(
            [*self._command, *words], env=self._environment, cwd=self.home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def run_deliveries(self) -> None:
        """
        Have `claims_deliveries` run: by its schedule, which is due when it is switched on, or else by hand.
        """
        on = query(self.database, "SELECT 1 FROM dag WHERE NOT is_paused AND dag_id LIKE 'claims_%%'")
        if on:
            self.airflow("dags", "trigger", "claims_deliveries")
            return
        # Views first: otherwise the tables may change before anybody waits for that.
        for name in ("claims_views", "claims_deliveries"):
            self.airflow("dags", "unpause", name)

    def new_run(self, dag_id: str, after: int, ends: str = "success") -> int:
        """
        Wait for the first run of a DAG whose number is above `after`, for its end too; return its number.
        """
        found: list[tuple[int, str]] = []

        def ended() -> bool:
            found[:] = query(
                self.database,
                "SELECT id, state FROM dag_run WHERE dag_id = %s AND id > %s ORDER BY id LIMIT 1",
                dag_id,
                after,
            )
            return bool(found) and found[0][1] in ENDED

        self.wait(f"a run of {dag_id}", ended)
        number, state = found[0]
        assert state == ends, f"{self.tasks(number)}\n{self._logs()}"
        return number

    def last_run(self) -> int:
        """Return the number of the newest run of any DAG."""
        return query(self.database, "SELECT coalesce(max(id), 0) FROM dag_run")[0][0]

    def run_type(self, number: int) -> str:
        return query(self.database, "SELECT run_type FROM dag_run WHERE id = %s", number)[0][0]

    def tasks(self, number: int) -> dict[tuple[str, int], tuple[str, int]]:
        """
        Return state and number of tries by task and number in its group (-1: in none) of a run.
        """
        rows = query(
            self.database,
            "SELECT task_id, map_index, t.state, try_number FROM task_instance t"
            " JOIN dag_run r USING (dag_id, run_id) WHERE r.id = %s",
            number,
        )
        return {(task, index): (state, tries) for task, index, state, tries in rows}

    def log(self, task: str) -> str:
        """Return all that a task outside of groups wrote into its logs."""
        found = (self.home / "logs").glob(f"dag_id=*/run_id=*/task_id={task}/*.log")
        return "".join(path.read_text(errors="replace") for path in sorted(found))

    def wait(self, what: str, is_so) -> None:
        """Poll until it is so; else fail with what every process said at last."""
        try:
            wait_for(what, is_so, PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._logs()}") from None

    def _logs(self) -> str:
        tasks = sorted((self.home / "logs").glob("dag_id=*/**/*.log"))
        return "\n".join(
            f"== {path.relative_to(self.home)}\n{path.read_text(errors='replace')[-1500:]}"
            for path in [*sorted(self.home.glob("*.log")), *tasks]
        )

    def _api_answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.request("GET", "/execution/health")
            return connection.getresponse().status < 500
        except OSError:
            return False
        finally:
            connection.close()

    def _spawn(self, name: str, *options: str) -> None:
        with (self.home / f"{name}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [*self._command, name, *options],
                    env=self._environment,
                    cwd=self.home,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def stop(self) -> None:
        """End the processes that were started here, and their children."""
        for process in self._processes:
            process.terminate()
        end = time.monotonic() + 10
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(end - time.monotonic(), 0.1))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
