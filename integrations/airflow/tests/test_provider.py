"""What Airflow sees of the provider: its description, its connection, and how quickly its DAGs are imported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from account import CountingProxy
from world import MAJOR

from airflow_provider_plimsoll import CONNECTION_FIELDS, get_provider_info
from airflow_provider_plimsoll.hooks.plimsoll import PlimsollHook

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_airflow_finds_the_connection_the_link_and_the_modules():
    """By the entry point, with Airflow's own check of the description."""
    from airflow.providers_manager import ProvidersManager

    found = ProvidersManager()
    info = found.hooks["plimsoll"]
    fields = {name for name in found.connection_form_widgets if name.startswith("extra__plimsoll__")}

    assert "airflow-provider-plimsoll" in found.providers
    assert info is not None
    assert info.connection_testable
    assert {f"extra__plimsoll__{name}" for name in CONNECTION_FIELDS} == fields
    assert "host" in found.field_behaviours["plimsoll"]["hidden_fields"]
    assert "airflow_provider_plimsoll.links.PlimsollReportLink" in found.extra_links_class_names


def test_every_module_of_the_description_is_there():
    from importlib import import_module

    info = get_provider_info()
    names = [
        module
        for kind in ("hooks", "operators", "sensors", "triggers")
        for entry in info[kind]
        for module in entry["python-modules"]
    ]

    assert 5 == len(names)
    assert all(import_module(name) for name in names)


def test_a_connection_is_tested_by_reading_metrics(
    aws: CountingProxy, connections: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    found, text = PlimsollHook().test_connection()
    missing, why = PlimsollHook(target="rds:nobody").test_connection()
    monkeypatch.setenv("AIRFLOW_CONN_EMPTY", json.dumps({"conn_type": "plimsoll"}))

    assert found
    assert "metrics of idle (db.m5.large)" in text
    assert not missing
    assert "nobody" in why
    assert (False, True) == (
        PlimsollHook("empty").test_connection()[0],
        "has no target" in PlimsollHook("empty").test_connection()[1],
    )


def test_a_role_is_assumed_before_anything_is_read(
    aws: CountingProxy, connections: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    role = "arn:aws:iam::210987654321:role/reader"
    extra = {"target": "rds:idle", "region": "eu-central-1", "role_arn": role}
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "plimsoll", "extra": extra}))
    before = aws.count("AssumeRole", "reader")
    # The double has the instance in the first account only.
    found, text = PlimsollHook("other").test_connection()

    assert before + 1 == aws.count("AssumeRole", "reader")
    assert not found
    assert "there is no instance in eu-central-1" in text


def test_a_role_that_is_none_is_refused(connections: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    extra = {"target": "rds:idle", "region": "eu-central-1", "role_arn": "reader"}
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "plimsoll", "extra": extra}))

    assert "is not the ARN of a role" in PlimsollHook("other").test_connection()[1]


def test_the_database_connection_becomes_a_connection_string(
    connections: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    """Of its extras only what libpq knows is passed on."""
    given = {
        "conn_type": "postgres",
        "host": "db1",
        "login": "etl",
        "password": "it's",
        "schema": "orders",
        "port": 5433,
        "extra": {"sslmode": "require", "iam": True},
    }
    monkeypatch.setenv("AIRFLOW_CONN_ORDERS", json.dumps(given))
    dsn = PlimsollHook().dsn("orders")

    assert r"user=etl password=it\'s dbname=orders" in dsn
    assert "sslmode=require" in dsn
    assert "iam" not in dsn


_TIMED = """
import json, sys, time
began = time.perf_counter()
import airflow.providers.common.compat.sdk as sdk
sdk.DAG, sdk.BaseSensorOperator, sdk.BaseHook, sdk.BaseNotifier, sdk.XCom
import airflow.triggers.base, airflow.providers.common.compat.connection
airflow_s = time.perf_counter() - began; began = time.perf_counter()
import airflow_provider_plimsoll.example_dags.example_plimsoll_load
print(json.dumps([airflow_s, time.perf_counter() - began, sorted(sys.modules)]))
"""


def test_an_example_dag_is_imported_without_plimsoll_and_boto3(tmp_path: Path):
    """A DAG processor imports it again and again: it costs less than Airflow's own classes."""
    import os

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _TIMED],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path)},
    )
    airflow_s, own_s, modules = json.loads(done.stdout.splitlines()[-1])
    print(f"Airflow {MAJOR}: {airflow_s:.3f} s for its classes, {own_s:.3f} s for the example")

    assert not {"boto3", "botocore", "plimsoll", "plimsoll.app.read"} & set(modules)
    assert own_s < airflow_s
