"""A real Airflow: scheduler, triggerer, DAG processor and (from 3 on) API server on PostgreSQL, on loopback only."""

import contextlib
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg

MAJOR = int(version("apache-airflow").split(".")[0])
DAGS = Path(__file__).parent / "dags"
# Far longer than anything takes on an idle machine.
PATIENCE_S = 300.0
# Without a sign of life for so long a triggerer counts as dead.
_DEAD_AFTER_S = "4"


def start_servers(*names: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """Start servers with plimsoll's command, and return their addresses."""
    program = os.environ.get("PLIMSOLL") or shutil.which("plimsoll")
    assert program, "set PLIMSOLL to the command that starts servers"
    options = [word for name in names for word in ("--start", name)]
    command = subprocess.Popen([*program.split(), "lab", "servers", *options], stdout=subprocess.PIPE, text=True)
    assert command.stdout is not None
    found = {}
    for line in command.stdout:
        name, _, rest = line.partition(" ")
        found[name] = rest.rpartition(" ")[2].strip()
        if len(found) == len(names):
            return command, found
    raise AssertionError(f"the servers did not start: status {command.wait()}")


def until(found: Callable[[], Any], what: str) -> Any:
    """Return what is true at last."""
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        value = found()
        if value:
            return value
        time.sleep(0.25)
    raise AssertionError(f"not within {PATIENCE_S:.0f} s: {what}")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class AirflowWorld:
    """One Airflow with a folder, a database and processes of its own."""

    def __init__(self, home: Path, postgres: str, environment: Mapping[str, str]) -> None:
        self.home, self.database = home, f"{postgres.rpartition('/')[0]}/airflow{MAJOR}"
        with psycopg.connect(postgres, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE airflow{MAJOR}")
        (home / "dags").mkdir(parents=True)
        self.environment = {**os.environ, **_settings(home, self.database), **environment}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._api_port = free_port()
        if MAJOR >= 3:
            url = f"http://127.0.0.1:{self._api_port}/execution/"
            self.environment["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] = url

    def migrate(self) -> None:
        self.airflow("db", "migrate")

    def airflow(self, *words: str) -> str:
        """Return what a command prints."""
        done = subprocess.run(
            [*_AIRFLOW, *words], env=self.environment, capture_output=True, text=True, cwd=self.home, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def start(self) -> None:
        if MAJOR >= 3:
            self.spawn("api-server", "--host", "127.0.0.1", "--port", str(self._api_port), "--workers", "1")
            # Tasks that begin before it answers are given up.
            until(self._api_answers, "the API server")
        self.spawn("dag-processor")
        self.spawn("scheduler", "--skip-serve-logs")
        self.spawn("triggerer", "--skip-serve-logs")

    def _api_answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._api_port, timeout=10)
        try:
            connection.request("GET", "/execution/health")
            return connection.getresponse().status < 500
        except OSError:
            return False
        finally:
            connection.close()

    def spawn(self, name: str, *options: str) -> None:
        with (self.home / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*_AIRFLOW, name, *options],
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd=self.home,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """End a process and its children as a machine does that stops."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        end_s = time.monotonic() + 10
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(end_s - time.monotonic(), 0.1))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(statement, values).fetchall()

    def states(self, dag_id: str) -> dict[str, str]:
        """Return the state of each task of a DAG that has one."""
        found = self.rows("SELECT task_id, state FROM task_instance WHERE dag_id = %s", dag_id)
        return {task: state for task, state in found if state}

    def wait_for(self, dag_id: str, task_id: str, *states: str) -> str:
        """Return the state of a task, once it is one of these."""

        def reached() -> str | None:
            state = self.states(dag_id).get(task_id)
            if state in ("failed", "upstream_failed") and state not in states:
                raise AssertionError(f"{dag_id}.{task_id} is {state}:\n{self.log(dag_id, task_id)}")
            return state if state in states else None

        try:
            return str(until(reached, f"{dag_id}.{task_id} {' or '.join(states)}"))
        except AssertionError as error:
            ends = "\n".join(
                f"== {path.name}\n{path.read_text(errors='replace')[-1500:]}"
                for path in sorted(self.home.glob("*.log"))
            )
            raise AssertionError(f"{error}; {self.states(dag_id)}\n{ends}") from None

    def log(self, dag_id: str, task_id: str) -> str:
        """Return what all tries of a task logged."""
        found = sorted((self.home / "logs").glob(f"dag_id={dag_id}/run_id=*/task_id={task_id}/**/*"))
        return "\n".join(path.read_text(errors="replace") for path in found if path.is_file())

    def xcom(self, dag_id: str, task_id: str, key: str) -> Any:
        """Return a pushed value, however this Airflow stores it."""
        found = self.rows(
            "SELECT value FROM xcom WHERE dag_id = %s AND task_id = %s AND key = %s", dag_id, task_id, key
        )
        value = found[0][0] if found else None
        # Airflow 2 keeps the bytes of a document, Airflow 3 the document or the text of one.
        if isinstance(value, bytes | str):
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(value)
        return value


_AIRFLOW = [sys.executable, "-m", "airflow"]


def _settings(home: Path, database: str) -> dict[str, str]:
    from cryptography.fernet import Fernet

    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "6",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__FERNET_KEY": Fernet.generate_key().decode(),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.replace("postgresql://", "postgresql+psycopg2://"),
        "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(32),
        "AIRFLOW__WEBSERVER__SECRET_KEY": secrets.token_hex(32),
        "AIRFLOW__SCHEDULER__STANDALONE_DAG_PROCESSOR": "True",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
        "AIRFLOW__SCHEDULER__PARSING_PROCESSES": "1",
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": _DEAD_AFTER_S,
        "AIRFLOW__SCHEDULER__USAGE_DATA_COLLECTION_ENABLED": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "PYTHONWARNINGS": "ignore",
    }
