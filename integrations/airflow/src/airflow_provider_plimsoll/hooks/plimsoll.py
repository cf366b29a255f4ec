"""The hook: a connection of type `plimsoll` as a target that can be read."""

from typing import Any

from airflow.providers.common.compat.connection import get_async_connection
from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_plimsoll import CONNECTION_FIELDS, HIDDEN_FIELDS, PLACEHOLDERS, RELABELING
from airflow_provider_plimsoll.target import PlimsollTarget, target_of

# Keywords of libpq that extras of a Postgres connection may have; other extras are of its hook.
_LIBPQ = (
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "connect_timeout",
    "options",
    "target_session_attrs",
    "application_name",
)


class PlimsollHook(BaseHook):
    """
    Read the database that a connection names.

    :param plimsoll_conn_id: id of a connection of type `plimsoll`.
    :param target: in place of the connection's, for example `rds:orders`.
    """

    conn_name_attr = "plimsoll_conn_id"
    default_conn_name = "plimsoll_default"
    conn_type = "plimsoll"
    hook_name = "Plimsoll"

    def __init__(self, plimsoll_conn_id: str = default_conn_name, target: str | None = None) -> None:
        """Keep the names; nothing is asked yet."""
        super().__init__()
        self.plimsoll_conn_id, self._target = plimsoll_conn_id, target

    @classmethod
    def get_connection_form_widgets(cls) -> dict[str, Any]:
        """Return the fields of the form of Airflow 2; Airflow 3 reads them from the provider's description."""
        from flask_appbuilder.fieldwidgets import BS3TextFieldWidget
        from flask_babel import lazy_gettext
        from wtforms import StringField

        return {
            name: StringField(
                lazy_gettext(field["label"]), widget=BS3TextFieldWidget(), description=field.get("description", "")
            )
            for name, field in CONNECTION_FIELDS.items()
        }

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Return which usual fields are hidden, for Airflow 2."""
        return {"hidden_fields": HIDDEN_FIELDS, "relabeling": RELABELING, "placeholders": PLACEHOLDERS}

    def get_conn(self) -> PlimsollTarget:
        """
        Return the target of the connection.

        Raises:
            ValueError: the connection has none.
        """
        return self._target_of(self.get_connection(self.plimsoll_conn_id))

    async def aget_target(self) -> PlimsollTarget:
        """Return the target of the connection, from an event loop."""
        return self._target_of(await get_async_connection(self.plimsoll_conn_id))

    def _target_of(self, connection: Any) -> PlimsollTarget:
        return target_of(
            _extras(connection), token=connection.password, conn_id=self.plimsoll_conn_id, target=self._target
        )

    def dsn(self, dsn_conn_id: str | None = None) -> str:
        """
        Return the connection string of the database.

        Args:
            dsn_conn_id: id of a Postgres connection; None takes the one that this connection names.

        Raises:
            ValueError: neither names one.
        """
        from psycopg.conninfo import make_conninfo

        name = dsn_conn_id or self.get_conn().dsn_conn_id
        if not name:
            raise ValueError(
                f"the connection '{self.plimsoll_conn_id}' names no database connection: fill its field "
                "Database connection, or give dsn_conn_id"
            )
        connection = self.get_connection(name)
        extras = _extras(connection)
        return make_conninfo(
            host=connection.host,
            port=connection.port,
            user=connection.login,
            password=connection.password,
            dbname=connection.schema,
            **{key: str(extras[key]) for key in _LIBPQ if key in extras},
        )

    def test_connection(self) -> tuple[bool, str]:
        """Return whether metrics can be read, and a sentence."""
        import plimsoll

        try:
            target = self.get_conn()
            snapshot = target.read(last="30m" if target.is_live else None)
        except plimsoll.PlimsollError as error:
            return False, f"{error.message}. {error.hint}"
        except ValueError as error:
            return False, str(error)
        found = snapshot.instance
        if not snapshot.series:
            return (False, f"{found.identifier or target.target} has no metrics in the last 30 minutes")
        kind = f" ({found.db_class})" if found.db_class else ""
        return True, f"read {len(snapshot.series)} metrics of {found.identifier}{kind}"


def _extras(connection: Any) -> dict[str, Any]:
    import json

    # extra_dejson masks secrets by asking the supervisor, which an event loop must not do.
    found = json.loads(connection.extra) if connection.extra else {}
    return found if isinstance(found, dict) else {}
