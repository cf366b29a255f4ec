"""Operators, sensor and notifier in this process: what they return, raise and send."""

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from account import CountingProxy
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)
from webhook import Webhook
from world import MAJOR, until

from airflow_provider_plimsoll import retry
from airflow_provider_plimsoll.notifications.plimsoll import PlimsollNotifier
from airflow_provider_plimsoll.operators.diagnose import DiagnoseOperator
from airflow_provider_plimsoll.operators.load import PacedLoadOperator
from airflow_provider_plimsoll.retry import next_retry, time_until_credits
from airflow_provider_plimsoll.sensors.io_budget import IoBudgetSensor

EXAMPLES = Path(__file__).parents[3] / "examples"
ROWS = 600_000


class Instance:
    """As much of a task instance as operators use."""

    dag_id, task_id, try_number = "claims", "load", 1
    start_date = datetime.now(UTC)

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def diagnose(on_limit: str, target: str, **more: Any) -> tuple[DiagnoseOperator, Instance]:
    operator = DiagnoseOperator(task_id="check", target=str(EXAMPLES / target), on_limit=on_limit, **more)
    return operator, Instance()


@pytest.mark.parametrize(("on_limit", "kind"), [("fail", AirflowFailException), ("skip", AirflowSkipException)])
def test_a_limit_that_binds_fails_or_skips_and_the_verdict_is_kept(
    on_limit: str, kind: type[Exception], connections: dict[str, str]
):
    operator, instance = diagnose(on_limit, "search-service")
    with pytest.raises(kind, match=r"212\.9 MB/s"):
        operator.execute({"ti": instance})
    verdict = instance.pushed["return_value"]

    assert "binds" == verdict["verdict"]
    assert "instance_ebs_throughput" == verdict["binding"]["family"]
    assert 212.9e6 == pytest.approx(verdict["binding"]["level"], rel=0.001)
    assert verdict["is_simulated"]


def test_a_verdict_passes_if_no_limit_binds_or_nobody_minds(connections: dict[str, str], tmp_path: Path):
    """The report goes to its file, and the link of the task to its address."""
    path = tmp_path / "report.md"
    quiet, instance = diagnose("fail", "quiet", report_path=str(path), report_url="https://reports.example.org/1")
    bound, other = diagnose("pass", "search-service")

    assert "slack" == quiet.execute({"ti": instance})["verdict"]
    assert {"report_url": "https://reports.example.org/1"} == instance.pushed
    assert path.read_text(encoding="utf-8").startswith("#")
    assert "binds" == bound.execute({"ti": other})["verdict"]


def test_an_error_is_one_sentence(connections: dict[str, str]):
    operator, instance = diagnose("pass", "nothing")
    with pytest.raises(AirflowException, match="does not exist") as raised:
        operator.execute({"ti": instance})

    assert "\n" not in str(raised.value)


def loading(path: Path, **more: Any) -> PacedLoadOperator:
    return PacedLoadOperator(task_id="load", files=[str(path)], table="public.stopped", **more)


def test_a_load_that_is_killed_stops_and_goes_on_later(
    connections: dict[str, str], servers: dict[str, str], aws: CountingProxy, tmp_path: Path
):
    """
    After on_kill no session loads, some chunks are there, and the next try loads the others only.
    """
    path = tmp_path / "stopped.csv"
    path.write_text("".join(f"{n:08d},{'x' * 30}\n" for n in range(ROWS)))
    with psycopg.connect(servers["postgres"], autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS public.stopped")
        connection.execute("CREATE TABLE public.stopped (id bigint, text text)")
        operator = loading(path, target="rds:busy", reserve_ratio=0.25)
        raised: list[BaseException] = []

        def run() -> None:
            try:
                operator._load()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        until(lambda: connection.execute("SELECT count(*) FROM public.stopped").fetchone()[0], "a first chunk")
        operator.on_kill()
        thread.join()
        (loaded,) = connection.execute("SELECT count(*) FROM public.stopped").fetchone()
        sessions = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY %' AND state = 'active'"
        ).fetchone()[0]
        done = loading(path, target="rds:idle")._load()
        count, distinct = connection.execute("SELECT count(*), count(DISTINCT id) FROM public.stopped").fetchone()

    assert "the load was stopped before its end" in str(raised[0])
    assert isinstance(raised[0], AirflowException)
    assert 0 < loaded < ROWS
    assert 0 == sessions
    assert (ROWS, ROWS) == (count, distinct)
    assert ROWS - loaded == done["row_count"]


def test_a_retry_waits_for_credits_first(connections: dict[str, str], tmp_path: Path):
    instance = Instance()
    instance.try_number = 2
    with pytest.raises(TaskDeferred) as raised:
        PacedLoadOperator.execute.__wrapped__(loading(tmp_path / "none.csv", retry_balance_ratio=0.3), {"ti": instance})

    assert {"balance_ratio": 0.3, "reserve_ratio": 0.2} == raised.value.trigger.need
    assert "execute_after_wait" == raised.value.method_name


def test_a_load_watches_commits_if_it_is_told(connections: dict[str, str], tmp_path: Path):
    path = tmp_path / "none.csv"
    watched = loading(path, target="rds:busy", commit_latency_ratio=1.2)

    assert 1.2 == watched._request().commit_latency_ratio
    assert None is loading(path, target="rds:busy")._request().commit_latency_ratio


def sensor(**more: Any) -> IoBudgetSensor:
    return IoBudgetSensor(task_id="budget", balance_ratio=0.5, timeout=0, **more)


def test_a_sensor_on_a_worker_asks_for_itself(connections: dict[str, str], aws: CountingProxy):
    idle = sensor(target="rds:idle", deferrable=False)
    busy = sensor(target="rds:busy", deferrable=False, poke_interval=0)

    assert idle.poke({}).xcom_value["may_go"]
    assert busy.poke({}) is False
    assert "instance ebs" in busy._too_late(busy._last)


@pytest.mark.parametrize(
    ("event", "soft", "kind"),
    [
        ({"status": "timeout", "text": "why"}, False, AirflowSensorTimeout),
        ({"status": "timeout", "text": "why"}, True, AirflowSkipException),
        ({"status": "error", "text": "why"}, False, AirflowException),
    ],
)
def test_a_sensor_ends_with_the_sentence_of_its_trigger(event: dict[str, str], soft: bool, kind: type[Exception]):
    with pytest.raises(kind, match="why"):
        sensor(soft_fail=soft).execute_complete({}, event)


def test_a_message_says_that_the_database_cannot_be_read(
    connections: dict[str, str], webhook: Webhook, aws: CountingProxy
):
    """A failure to diagnose does not keep the message back."""
    sent: list[str] = []
    notifier = PlimsollNotifier(target="rds:nobody", text="it failed.", deliver=sent.append)
    notifier.notify({"ti": Instance()})

    assert sent[0].startswith("it failed. Plimsoll cannot tell what the database was up against: ")


def test_a_notifier_without_its_connection_says_that(connections: dict[str, str]):
    """The message goes out nevertheless: that the database cannot be read is a part of it."""
    found = PlimsollNotifier(plimsoll_conn_id="absent", deliver=print)._found(None)

    assert found.startswith("Plimsoll cannot tell what the database was up against: ")
    assert "absent" in found


def test_a_notifier_needs_one_way_to_deliver():
    with pytest.raises(ValueError):
        PlimsollNotifier()


def test_the_next_retry_is_when_credits_are_back(connections: dict[str, str], aws: CountingProxy):
    """More credits take longer; if they are there already, it is now."""
    some, text = time_until_credits(target="rds:busy", balance_ratio=0.3)
    more, _ = time_until_credits(target="rds:busy", balance_ratio=0.6)
    now = datetime.now(UTC)

    assert some is not None
    assert more is not None
    assert some < more
    assert "throughput credits are at" in text
    assert next_retry(target="rds:busy", balance_ratio=0.3) > now
    assert abs((next_retry(target="rds:idle") - datetime.now(UTC)).total_seconds()) < some.total_seconds()


def test_a_policy_survives_a_round_trip(connections: dict[str, str]):
    if MAJOR < 3:
        assert not hasattr(retry, "CreditsBackRetryPolicy")
        return
    CreditsBackRetryPolicy = retry.CreditsBackRetryPolicy  # noqa: N806
    one = CreditsBackRetryPolicy(target="rds:busy", balance_ratio=0.4)

    assert one.serialize() == CreditsBackRetryPolicy.deserialize(one.serialize()).serialize()
