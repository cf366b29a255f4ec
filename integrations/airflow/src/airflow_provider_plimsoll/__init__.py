"""The Airflow provider of Plimsoll: tasks that know what a database's storage can still do."""

from typing import Any

__version__ = "0.1.0"

_NAME = "Plimsoll"
_PACKAGE = "airflow_provider_plimsoll"
_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_NUMBER: dict[str, Any] = {"type": ["number", "null"]}

CONNECTION_FIELDS: dict[str, dict[str, Any]] = {
    "target": {"label": "Target", "description": "rds:NAME, prom:URL, or a file of metrics.", "schema": _TEXT},
    "region": {"label": "AWS region", "description": "For rds:NAME.", "schema": _TEXT},
    "role_arn": {
        "label": "AWS role",
        "description": "ARN of a role to assume before metrics are read.",
        "schema": _TEXT,
    },
    "profile": {
        "label": "AWS profile",
        "description": "Of the AWS configuration on workers and triggerers.",
        "schema": _TEXT,
    },
    "dsn_conn_id": {
        "label": "Database connection",
        "description": "Id of the Postgres connection of the same database. Loads need it.",
        "schema": _TEXT,
    },
    "identifier": {"label": "Instance", "description": "For a Prometheus that has several.", "schema": _TEXT},
    "db_class": {
        "label": "Instance class",
        "description": "For example db.r6g.2xlarge. AWS says it by itself.",
        "schema": _TEXT,
    },
    "engine": {"label": "Engine", "description": "For example postgres.", "schema": _TEXT},
    "storage": {"label": "Storage", "description": "gp2, gp3, io1 or io2.", "schema": _TEXT},
    "size_gib": {"label": "Storage in GiB", "schema": _NUMBER},
    "iops": {"label": "Provisioned IOPS", "schema": _NUMBER},
    "throughput_mibps": {"label": "Provisioned MiB/s", "schema": _NUMBER},
    "launched": {"label": "Launched", "description": "Date; an old instance may have legacy limits.", "schema": _TEXT},
}
"""Fields of a connection beside the password, each a key of its extras."""

HIDDEN_FIELDS = ["host", "schema", "login", "port", "extra"]
RELABELING = {"password": "Prometheus token"}
PLACEHOLDERS = {"target": "rds:orders-primary", "region": "eu-central-1"}


def get_provider_info() -> dict[str, Any]:
    """Return what Airflow wants to know of a provider."""
    return {
        "package-name": "airflow-provider-plimsoll",
        "name": _NAME,
        "description": "Waits for I/O budget, loads at its pace, and says which limit binds.",
        "versions": [__version__],
        "integrations": [{"integration-name": _NAME, "external-doc-url": "", "tags": ["service"]}],
        "hooks": _modules("hooks.plimsoll"),
        "operators": _modules("operators.load", "operators.diagnose"),
        "sensors": _modules("sensors.io_budget"),
        "triggers": _modules("triggers.io_budget"),
        "connection-types": [
            {
                "connection-type": "plimsoll",
                "hook-class-name": f"{_PACKAGE}.hooks.plimsoll.PlimsollHook",
                "hook-name": _NAME,
                "conn-fields": CONNECTION_FIELDS,
                "ui-field-behaviour": {
                    "hidden-fields": HIDDEN_FIELDS,
                    "relabeling": RELABELING,
                    "placeholders": PLACEHOLDERS,
                },
            }
        ],
        "extra-links": [f"{_PACKAGE}.links.PlimsollReportLink"],
        "notifications": [f"{_PACKAGE}.notifications.plimsoll.PlimsollNotifier"],
    }


def _modules(*names: str) -> list[dict[str, Any]]:
    return [{"integration-name": _NAME, "python-modules": [f"{_PACKAGE}.{name}" for name in names]}]
