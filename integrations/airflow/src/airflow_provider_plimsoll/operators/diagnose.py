"""An operator that says which limit a database is at."""

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    BaseOperator,
)

from airflow_provider_plimsoll.links import REPORT_URL, PlimsollReportLink
from airflow_provider_plimsoll.verdict import verdict_of

_ON_LIMIT = ("pass", "fail", "skip")


class DiagnoseOperator(BaseOperator):
    """
    Diagnose a window, and return the verdict as XCom.

    :param plimsoll_conn_id: id of a connection of type `plimsoll`.
    :param target: in place of the connection's, for example `rds:orders`.
    :param last: length of the window, for example `3h` (default: one day, unless `since` is given).
    :param since: start of the window, an ISO moment.
    :param until: end of the window, exclusive (default: now).
    :param on_limit: what happens if a limit binds: `pass`, `fail` (without retries), or `skip`, which skips this task
        and those after it. The verdict is pushed in every case.
    :param report_path: file for a report; its ending (`.html`, `.md`, `.json` or `.txt`) selects the form.
    :param report_url: address under which that file is served, for the link of the task (default: its path).
    """

    template_fields: Sequence[str] = (
        "plimsoll_conn_id",
        "target",
        "last",
        "since",
        "until",
        "report_path",
        "report_url",
    )
    operator_extra_links = (PlimsollReportLink(),)

    def __init__(
        self,
        *,
        plimsoll_conn_id: str = "plimsoll_default",
        target: str | None = None,
        last: str | None = None,
        since: str | None = None,
        until: str | None = None,
        on_limit: str = "pass",
        report_path: str | None = None,
        report_url: str | None = None,
        **kwargs: Any,
    ) -> None:
        """
        Keep what to diagnose; nothing is asked yet.

        Raises:
            ValueError: there is no such on_limit.
        """
        super().__init__(**kwargs)
        if on_limit not in _ON_LIMIT:
            raise ValueError(f"there is no on_limit '{on_limit}': use {', '.join(_ON_LIMIT)}")
        self.plimsoll_conn_id, self.target = plimsoll_conn_id, target
        self.last, self.since, self.until = last, since, until
        self.on_limit = on_limit
        self.report_path, self.report_url = report_path, report_url

    def execute(self, context: Any) -> dict[str, Any]:
        """Diagnose, write the report, and pass, fail or skip."""
        import plimsoll
        from airflow_provider_plimsoll.hooks.plimsoll import PlimsollHook

        target = PlimsollHook(self.plimsoll_conn_id, self.target).get_conn()
        try:
            snapshot = target.read(self.last, self.since, self.until)
            diagnosis = plimsoll.diagnose(snapshot)
            if self.report_path is not None:
                plimsoll.write(self.report_path, plimsoll.Report(diagnosis=diagnosis, snapshot=snapshot))
        except plimsoll.PlimsollError as error:
            raise AirflowException(f"{error.message}. {error.hint}".rstrip(". ")) from None
        if self.report_path is not None:
            url = self.report_url or self.report_path
            context["ti"].xcom_push(key=REPORT_URL, value=url)
        verdict = verdict_of(diagnosis)
        self.log.info("%s", verdict["text"])
        if verdict["verdict"] == "binds" and self.on_limit != "pass":
            # Both exceptions drop what a task returns.
            context["ti"].xcom_push(key="return_value", value=verdict)
            kind = AirflowFailException if self.on_limit == "fail" else AirflowSkipException
            raise kind(verdict["text"])
        return verdict
