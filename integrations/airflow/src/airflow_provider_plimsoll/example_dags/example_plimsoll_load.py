"""Wait for I/O budget, load at its pace, and check afterwards that no limit binds."""

import os
from datetime import UTC, datetime, timedelta

from airflow.providers.common.compat.sdk import DAG

from airflow_provider_plimsoll.operators.diagnose import DiagnoseOperator
from airflow_provider_plimsoll.operators.load import PacedLoadOperator
from airflow_provider_plimsoll.sensors.io_budget import IoBudgetSensor

FOLDER = os.environ.get("PLIMSOLL_EXAMPLE_FOLDER", "/srv/incoming")

with DAG(
    dag_id="example_plimsoll_load",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=None,
    catchup=False,
    tags=["example"],
) as dag:
    budget = IoBudgetSensor(
        task_id="budget",
        balance_ratio=0.5,
        batch_gib=2.0,
        within=timedelta(hours=1),
        poke_interval=float(os.environ.get("PLIMSOLL_EXAMPLE_INTERVAL_S", "60")),
        timeout=6 * 3600,
    )
    load = PacedLoadOperator(
        task_id="load",
        files=[f"{FOLDER}/claims.csv"],
        table="public.claims",
        has_header=True,
        finish_within=timedelta(hours=1),
        retries=2,
        retry_delay=timedelta(seconds=1),
    )
    check = DiagnoseOperator(
        task_id="check", last="3h", report_path=f"{FOLDER}/report-{{{{ run_id | replace(':', '-') }}}}.html"
    )
    budget >> load >> check
