"""A task that fails, and is tried again when credits are back (Airflow 3.3 and later)."""

from datetime import UTC, datetime, timedelta

from airflow.providers.common.compat.sdk import DAG, BaseOperator

from airflow_provider_plimsoll.retry import CreditsBackRetryPolicy


class Batch(BaseOperator):
    def execute(self, context):
        raise RuntimeError("the batch was too slow")


with DAG("again", schedule="@once", start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False):
    Batch(
        task_id="batch",
        retries=1,
        retry_policy=CreditsBackRetryPolicy(target="rds:busy", balance_ratio=0.6, longest=timedelta(hours=24)),
    )
