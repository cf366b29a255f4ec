"""A load that is killed, and goes on."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.providers.common.compat.sdk import DAG

from airflow_provider_plimsoll.operators.load import PacedLoadOperator

FOLDER = Path(os.environ["PLIMSOLL_EXAMPLE_FOLDER"])


class WatchedLoad(PacedLoadOperator):
    def execute(self, context):
        (FOLDER / f"try{context['ti'].try_number}.pid").write_text(str(os.getpid()))
        return super().execute(context)


with DAG("killed", schedule="@once", start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False):
    WatchedLoad(
        task_id="load",
        files=[str(FOLDER / "killed.csv")],
        table="public.killed",
        target="rds:busy",
        # All credits stay, so that the load takes as long as a kill needs.
        reserve_ratio=0.25,
        retries=6,
        retry_delay=timedelta(seconds=1),
        retry_balance_ratio=0.05,
        log_every=timedelta(seconds=1),
    )
