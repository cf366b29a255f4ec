"""A notifier that says what the database was up against while a task ran."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook, BaseNotifier

from airflow_provider_plimsoll.hooks.plimsoll import PlimsollHook
from airflow_provider_plimsoll.verdict import text_of

# A failure within seconds has its cause before it; fewer minutes than this can hardly be judged.
_BEFORE = timedelta(minutes=30)
_TIMEOUT_S = 10.0


class PlimsollNotifier(BaseNotifier):
    """
    Send a message with the verdict on the time from half an hour before the task until now.

    :param plimsoll_conn_id: id of a connection of type `plimsoll`.
    :param target: in place of the connection's, for example `rds:orders`.
    :param text: how the message begins; a template.
    :param webhook_conn_id: id of a connection whose password is the URL of an incoming webhook, for example Slack's.
    :param deliver: a function that takes the text, in place of a webhook.
    """

    template_fields: Sequence[str] = ("text", "plimsoll_conn_id", "target")

    def __init__(
        self,
        *,
        plimsoll_conn_id: str = PlimsollHook.default_conn_name,
        target: str | None = None,
        text: str = "{{ ti.dag_id }}.{{ ti.task_id }} failed (try {{ ti.try_number }}).",
        webhook_conn_id: str | None = None,
        deliver: Callable[[str], None] | None = None,
    ) -> None:
        """
        Keep where to send to.

        Raises:
            ValueError: neither a webhook nor a function, or both.
        """
        super().__init__()
        if (webhook_conn_id is None) == (deliver is None):
            raise ValueError("give webhook_conn_id or deliver")
        self.plimsoll_conn_id, self.target, self.text = plimsoll_conn_id, target, text
        self.webhook_conn_id, self.deliver = webhook_conn_id, deliver

    def notify(self, context: Any) -> None:
        """Send the message; that the database cannot be read is a part of it."""
        message = f"{self.text} {self._found(context['ti'].start_date)}"
        if self.deliver is not None:
            self.deliver(message)
            return
        assert self.webhook_conn_id is not None
        import httpx

        url = BaseHook.get_connection(self.webhook_conn_id).password or ""
        httpx.post(url, json={"text": message}, timeout=_TIMEOUT_S).raise_for_status()

    def _found(self, began: datetime | None) -> str:
        import plimsoll

        since = (began or datetime.now(UTC)) - _BEFORE
        try:
            target = PlimsollHook(self.plimsoll_conn_id, self.target).get_conn()
            snapshot = target.read(since=since.isoformat() if target.is_live else None)
            return f"{text_of(plimsoll.diagnose(snapshot))}."
        except plimsoll.PlimsollError as error:
            return f"Plimsoll cannot tell what the database was up against: {error.message}."
        except (ValueError, AirflowNotFoundException) as error:
            return f"Plimsoll cannot tell what the database was up against: {error}."
