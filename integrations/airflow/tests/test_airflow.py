"""Tasks in a real Airflow: scheduler, triggerer and DAG processor, with PostgreSQL and a double of AWS."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from account import IDLE, CountingProxy, put
from webhook import Webhook
from world import DAGS, MAJOR, AirflowWorld, until

import airflow_provider_plimsoll.retry

# Four chunks of 4 MiB: at the pace of the busy instance several seconds pass between two of them.
ROWS = 400_000
ROW = "{:08d},a claim of some forty characters and no more\n"
EXAMPLE = Path(airflow_provider_plimsoll.__file__).parent / "example_dags"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that DAGs load."""
    found = tmp_path_factory.mktemp("incoming")
    with (found / "killed.csv").open("w") as file:
        file.writelines(ROW.format(n) for n in range(ROWS))
    with (found / "claims.csv").open("w") as file:
        file.write("id,text\n")
        file.writelines(ROW.format(n) for n in range(1000))
    return found


@pytest.fixture(scope="module")
def world(
    folder: Path, servers: dict[str, str], connections: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AirflowWorld]:
    """A running Airflow; each DAG has begun its one run, or is triggered by its test."""
    with psycopg.connect(servers["postgres"], autocommit=True) as connection:
        for table in ("killed", "claims"):
            connection.execute(f"CREATE TABLE public.{table} (id bigint, text text)")
    settings = {**connections, "PLIMSOLL_EXAMPLE_FOLDER": str(folder), "PLIMSOLL_EXAMPLE_INTERVAL_S": "2"}
    made = AirflowWorld(tmp_path_factory.mktemp("airflow"), servers["postgres"], settings)
    for path in [*DAGS.glob("*.py"), *EXAMPLE.glob("example_*.py")]:
        if MAJOR >= 3 or path.stem != "again":
            shutil.copy(path, made.home / "dags" / path.name)
    made.migrate()
    made.start()
    yield made
    made.stop()


def test_a_load_whose_worker_is_killed_goes_on_and_loads_each_row_once(
    world: AirflowWorld, folder: Path, servers: dict[str, str]
):
    # The first one that begins: Airflow gives up a task whose process has not begun in time.
    (pid_file,) = until(lambda: list(folder.glob("try*.pid")), "a first try")
    with psycopg.connect(servers["postgres"], autocommit=True) as connection:

        def loaded() -> int:
            (ledger,) = connection.execute("SELECT to_regclass('public.plimsoll_loaded')").fetchone()
            if ledger is None:
                return 0
            return connection.execute("SELECT count(*) FROM public.killed").fetchone()[0]

        at_kill = until(loaded, "a first chunk")
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        world.wait_for("killed", "load", "success")
        count, distinct, total = connection.execute(
            "SELECT count(*), count(DISTINCT id), sum(id) FROM public.killed"
        ).fetchone()

    assert 0 < at_kill < ROWS
    assert (ROWS, ROWS, ROWS * (ROWS - 1) // 2) == (count, distinct, total)
    assert "The wait for credits ended (go)" in world.log("killed", "load")
    assert world.xcom("killed", "load", "return_value")["earlier_bytes"] > 0


def test_budget_that_arrives_lets_a_batch_go_also_after_the_triggerer_was_killed(
    world: AirflowWorld, aws: CountingProxy, servers: dict[str, str]
):
    """
    Four sensors wait in the triggerer, which asks once an interval; it is killed, and another one goes on.
    """
    sensors = [f"budget_{number}" for number in range(4)]
    for sensor in sensors:
        world.wait_for("waiting", sensor, "deferred")
    until(lambda: aws.count("GetMetricData", "waiting") >= 2, "two readings")
    times = aws.times("GetMetricData", "waiting")
    world.kill("triggerer")
    world.spawn("triggerer", "--skip-serve-logs")
    restarted_s = time.time()
    until(lambda: aws.count("GetMetricData", "waiting", restarted_s), "a reading after the restart")
    still = {world.states("waiting")[sensor] for sensor in sensors}
    put(servers["aws"], "waiting", IDLE, 95.0, range(-10, 2))
    world.wait_for("waiting", "batch", "success")

    assert {"deferred"} == still
    # Requests of one reading follow each other at once: readings begin an interval of 4 s apart.
    assert len(readings(times, apart_s=2.0)) <= (times[-1] - times[0]) / 4 + 1.5
    assert {"success"} == set(world.states("waiting").values())
    assert "credits" in str(world.xcom("waiting", "budget_3", "return_value"))


def readings(times: list[float], apart_s: float) -> list[float]:
    """Return the first moment of each group of requests."""
    return [moment for before, moment in zip([float("-inf"), *times], times, strict=False) if moment - before > apart_s]


def test_a_sensor_that_waits_too_long_fails_with_one_sentence_and_the_notifier_says_why(
    world: AirflowWorld, webhook: Webhook
):
    world.wait_for("late", "budget", "failed")
    (text,) = until(lambda: webhook.texts, "a message")
    log = world.log("late", "budget")

    assert "there was no I/O budget within 3 s: instance ebs" in log
    assert "of its credits, 99% are needed" in log
    assert text.startswith("late.budget failed (try 1). busy: ")


def test_the_example_waits_loads_and_reports(world: AirflowWorld, folder: Path, servers: dict[str, str]):
    """The report is written, and the link of the task leads to it."""
    until(lambda: world.rows("SELECT 1 FROM dag WHERE dag_id = 'example_plimsoll_load'"), "the example")
    world.airflow("dags", "trigger", "example_plimsoll_load")
    world.wait_for("example_plimsoll_load", "check", "success")
    with psycopg.connect(servers["postgres"]) as connection:
        (count,) = connection.execute("SELECT count(*) FROM public.claims").fetchone()
    (report,) = folder.glob("report-*.html")
    verdict = world.xcom("example_plimsoll_load", "check", "return_value")

    assert 1000 == count
    assert "idle" in report.read_text(encoding="utf-8")
    assert "slack" == verdict["verdict"]
    assert str(report) in str(world.xcom("example_plimsoll_load", "check", "report_url"))
    if MAJOR >= 3:
        link = world.xcom("example_plimsoll_load", "check", "_link_PlimsollReportLink")
        assert str(report) in str(link)


def test_a_task_is_tried_again_when_credits_are_back(world: AirflowWorld):
    """The delay is the forecast's, and the reason is kept with the task."""
    if MAJOR < 3:
        # Airflow 2 has no retry policies, so the provider has none there.
        assert not hasattr(airflow_provider_plimsoll.retry, "CreditsBackRetryPolicy")
        return
    world.wait_for("again", "batch", "up_for_retry")
    ((delay_s, reason),) = world.rows(
        "SELECT retry_delay_override, retry_reason FROM task_instance WHERE dag_id = 'again'"
    )

    assert "throughput credits are at" in reason
    assert "reach 60 % in" in reason
    # The throughput bucket of the class takes longer to fill from a fifth to six tenths than a retry's usual wait.
    assert 300 < delay_s < 24 * 3600
