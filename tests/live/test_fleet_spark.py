"""Spark gives the bytes of the local engine: with executors, killed ones, Spark Connect and spark-submit."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pyspark
import pytest

from live.machine import clean_environment
from live.prometheus_server import free_port
from live.small_lake import POISONED, SOUND, small_lake
from live.waiting_verdict import GO, TABLE, bytes_of
from plimsoll.app.lake.verdict import verdict_function
from plimsoll.fleet.lake import Lake
from plimsoll.fleet.run import run_local

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
TWO_EXECUTORS = "local-cluster[2,1,1024]"
MARK = "PLIMSOLL_TEST_MARK"
PATIENCE_S = 600
# Half of the processor time of a short session goes into compiling code that soon ends, and into checking classes
# that are as they were published.
SHORT_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:CICompilerCount=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
EXECUTOR, DAEMON, DRIVER = "CoarseGrainedExecutorBackend", "pyspark.daemon", "SparkSubmit"


class Machine:
    """The processes that a test starts, by a variable that all of them inherit."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.environment = {**clean_environment(), MARK: self.mark, "JDK_JAVA_OPTIONS": SHORT_JAVA}
        for name in ("SPARK_HOME", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS"):
            self.environment.pop(name, None)

    def processes(self, part: str = "") -> list[psutil.Process]:
        """Those whose command line has the part."""
        found = []
        for process in psutil.process_iter():
            try:
                is_ours = process.environ().get(MARK) == self.mark
                if is_ours and part in " ".join(process.cmdline()):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def run(self, command: list[str], place: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            cwd=place,
            env={**self.environment, **variables},
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Processes are gone at the end of the test; what is left is ended, and fails it."""
    made = Machine()
    yield made
    end_s = time.monotonic() + PATIENCE_S
    while (left := made.processes()) and time.monotonic() < end_s:
        time.sleep(0.1)
    lines = [" ".join(process.cmdline())[:200] for process in left]
    for process in left:
        process.kill()
    assert [] == lines


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return small_lake(tmp_path_factory.mktemp("spark"))


@pytest.fixture(scope="module")
def one_by_one(lake: Lake) -> bytes:
    """The table of one process, as bytes of Arrow."""
    verdict = verdict_function(window_s=None, has_plan=True)
    table = run_local(lake, lake.manifest(), verdict, processes=1)
    assert {POISONED: "error"} == {
        row["instance"]: row["verdict"] for row in table.to_pylist() if row["verdict"] == "error"
    }
    assert len(SOUND) + 1 == table.num_rows
    return bytes_of(table)


@pytest.fixture(scope="module")
def csv(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the command prints with the local engine and one process."""
    place = tmp_path_factory.mktemp("local")
    found = Machine().run(fleet(lake, "--processes", "1"), place)
    assert (1, b"") == (found.returncode, found.stderr)
    return found.stdout


def fleet(lake: Lake, *options: str) -> list[str]:
    command = [sys.executable, "-m", "plimsoll", "fleet", lake.place.url, "--format", "csv"]
    return [*command, *options]


def on(master: str) -> tuple[str, ...]:
    return ("--engine", "spark", "--spark-master", master)


def wait_for(found: Callable[[], object], running: subprocess.Popen[bytes]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not found():
        assert running.poll() is None, "the run ended before"
        assert time.monotonic() < end_s
        time.sleep(0.1)


@pytest.mark.parametrize("master", [TWO_EXECUTORS, "local[2]"])
def test_the_command_prints_the_bytes_of_one_process(
    master: str, lake: Lake, csv: bytes, machine: Machine, tmp_path: Path
):
    """With real executors too, and with nothing on standard error nor in the folder where it ran."""
    temporary = tmp_path / "temporary"
    place = tmp_path / "place"
    temporary.mkdir()
    place.mkdir()
    found = machine.run(fleet(lake, *on(master)), place, TMPDIR=str(temporary))

    assert (1, csv, b"") == (found.returncode, found.stdout, found.stderr)
    assert [] == list(place.iterdir())
    assert [] == list(temporary.iterdir())
    assert not (Path(pyspark.__file__).parent / "work").exists()


def below(pid: int, part: str) -> list[psutil.Process]:
    """The processes below one whose command line has the part."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.Error):
            if part in " ".join(process.cmdline()):
                found.append(process)
    return found


def executor_of(worker: int) -> psutil.Process:
    above = psutil.Process(worker).parents()
    return next(one for one in above if EXECUTOR in " ".join(one.cmdline()))


@pytest.mark.parametrize("killed", ["executor", "worker of Python"])
def test_a_killed_process_changes_no_byte(killed: str, lake: Lake, one_by_one: bytes, machine: Machine, tmp_path: Path):
    """
    An executor or its Python is killed while two verdicts are computed. Until then, nothing that listens
    can be reached from another machine.
    """

    def workers() -> list[int]:
        return [int(path.name) for path in tmp_path.iterdir() if path.name.isdecimal()]

    command = [sys.executable, "-m", "live.waiting_verdict", lake.place.url, TWO_EXECUTORS]
    with subprocess.Popen(
        [*command, str(tmp_path)], cwd=ROOT, env={**machine.environment, "PYTHONPATH": str(ROOT / "tests")}
    ) as running:
        wait_for(lambda: len(workers()) == 2, running)
        open_to = {
            connection.laddr.ip
            for process in below(running.pid, "")
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        }
        before = set(workers())
        victim = min(before)
        victim = executor_of(victim).pid if killed == "executor" else victim
        os.kill(victim, signal.SIGKILL)
        # Another worker has begun the bucket again.
        wait_for(lambda: set(workers()) - before, running)
        (tmp_path / GO).touch()
        assert 0 == running.wait(PATIENCE_S)

    assert one_by_one == (tmp_path / TABLE).read_bytes()
    assert open_to
    assert open_to <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.parametrize("part", [DRIVER, EXECUTOR, DAEMON])
def test_ctrl_c_ends_every_process(part: str, lake: Lake, machine: Machine, tmp_path: Path):
    """While Java starts, when executors start, and while tasks run. The fixture sees what is left."""
    with subprocess.Popen(
        fleet(lake, *on(TWO_EXECUTORS)),
        cwd=tmp_path,
        env=machine.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        wait_for(lambda: below(running.pid, part), running)
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=PATIENCE_S)
    gone = machine.processes()

    assert (130, b"", b"interrupted\n") == (running.returncode, output, errors)
    assert [] == [one for one in gone if DRIVER in " ".join(one.cmdline())]


@pytest.mark.parametrize(
    ("master", "cause"),
    [
        ("nonsense", "'nonsense' is not a Spark master"),
        ("local-cluster[2,1]", "'local-cluster[2,1]' is not a Spark master"),
        ("sc://127.0.0.1:{port}", "unable to reach the Spark master 'sc://127.0.0.1:{port}'"),
        ("spark://127.0.0.1:{port}", "unable to reach the Spark master 'spark://127.0.0.1:{port}'"),
    ],
)
def test_a_master_that_cannot_be_used_is_one_sentence(
    master: str, cause: str, lake: Lake, machine: Machine, tmp_path: Path
):
    port = free_port()
    found = machine.run(fleet(lake, *on(master.format(port=port))), tmp_path)
    lines = found.stderr.decode().splitlines()

    assert (2, b"", 2) == (found.returncode, found.stdout, len(lines))
    assert lines[0].startswith(f"error: {cause.format(port=port)}")
    assert lines[1].startswith("hint: ")


def test_without_java_the_command_that_installs_it_is_named(lake: Lake, machine: Machine, tmp_path: Path):
    machine.environment.pop("JAVA_HOME", None)
    found = machine.run(fleet(lake, *on("local[2]")), tmp_path, PATH=str(tmp_path))

    assert 2 == found.returncode
    assert (
        b"error: this machine has no Java, which Spark needs\n"
        b"hint: Install Java 17 or newer: sudo apt-get install -y openjdk-17-jre-headless.\n"
    ) == found.stderr


def test_a_file_that_is_gone_is_one_sentence(lake: Lake, machine: Machine, tmp_path: Path):
    """What a task says on an executor is what the command says."""
    copy = tmp_path / "lake"
    shutil.copytree(lake.place.url, copy)
    manifest = lake.manifest()
    gone = next(iter(manifest.files.values()))[0]
    (copy / gone).unlink()
    command = [sys.executable, "-m", "plimsoll", "fleet", str(copy)]
    found = machine.run([*command, *on("local[2]")], tmp_path)
    lines = found.stderr.decode().splitlines()

    assert (2, 2) == (found.returncode, len(lines))
    assert lines[0].startswith(f"error: unable to read '{copy}/{gone}': ")
    assert "hint: Check the path and its permissions." == lines[1]


@contextmanager
def connect_server(machine: Machine, log: Path) -> Iterator[int]:
    """Spark's own server of Spark Connect on loopback; yields its port."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    options = [part for item in settings.items() for part in ("--conf", "=".join(item))]
    submit = Path(pyspark.__file__).parent / "bin/spark-submit"
    program = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            [submit, "--class", program, "--master", "local[2]", *options, "spark-internal"],
            cwd=log.parent,
            env={**machine.environment, "PYSPARK_PYTHON": sys.executable},
            stdout=written,
            stderr=written,
        ) as running,
    ):

        def answers() -> bool:
            with socket.socket() as asked:
                return asked.connect_ex(("127.0.0.1", port)) == 0

        try:
            wait_for(answers, running)
            yield port
        finally:
            running.terminate()
            running.wait(PATIENCE_S)


def test_spark_connect_gives_the_same_bytes(lake: Lake, csv: bytes, machine: Machine, tmp_path: Path):
    """Twice: a run ends its session, and the server goes on. No Java is needed where the command runs."""
    with connect_server(machine, tmp_path / "server.log") as port:
        command = fleet(lake, *on(f"sc://127.0.0.1:{port}"))
        found = [machine.run(command, tmp_path, PATH=str(tmp_path)) for _ in range(2)]

    assert [(1, csv, b"")] * 2 == [(run.returncode, run.stdout, run.stderr) for run in found]


def test_spark_submit_runs_the_program_for_clusters(lake: Lake, csv: bytes, machine: Machine, tmp_path: Path):
    """The program of integrations/spark writes the table as a file; its own status is 0 where a limit binds."""
    submit = Path(pyspark.__file__).parent / "bin/spark-submit"
    program = ROOT / "integrations/spark/rank_fleet.py"
    options = ["--lake", lake.place.url, "--table", f"{tmp_path}/v.csv"]
    found = machine.run(
        [str(submit), "--master", "local[2,4]", str(program), *options],
        tmp_path,
        PYSPARK_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
    )

    assert 0 == found.returncode, found.stderr.decode()[-2000:]
    assert csv == (tmp_path / "v.csv").read_bytes()
