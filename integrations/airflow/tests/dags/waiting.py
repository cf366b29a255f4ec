"""Sensors that wait for credits of one instance, and a task after them."""

from datetime import UTC, datetime, timedelta

from airflow.providers.common.compat.sdk import DAG, BaseOperator

from airflow_provider_plimsoll.notifications.plimsoll import PlimsollNotifier
from airflow_provider_plimsoll.sensors.io_budget import IoBudgetSensor


class Batch(BaseOperator):
    def execute(self, context):
        return "went"


START = datetime(2026, 1, 1, tzinfo=UTC)

with DAG("waiting", schedule="@once", start_date=START, catchup=False):
    batch = Batch(task_id="batch", retries=5, retry_delay=timedelta(seconds=1))
    for number in range(4):
        sensor = IoBudgetSensor(
            task_id=f"budget_{number}",
            target="rds:waiting",
            balance_ratio=0.5,
            rate_bytes_per_s=(number + 1) * 1e6,
            poke_interval=4,
            timeout=3600,
            # On a slow machine Airflow gives up a task whose process has not begun in time.
            retries=5,
            retry_delay=timedelta(seconds=1),
        )
        sensor >> batch

with DAG("late", schedule="@once", start_date=START, catchup=False):
    IoBudgetSensor(
        task_id="budget",
        target="rds:busy",
        balance_ratio=0.99,
        poke_interval=1,
        timeout=3,
        on_failure_callback=PlimsollNotifier(target="rds:busy", webhook_conn_id="chat"),
    )
