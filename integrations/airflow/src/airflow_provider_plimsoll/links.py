"""The link from a task to its report."""

from typing import Any

from airflow.providers.common.compat.sdk import BaseOperatorLink, XCom

REPORT_URL = "report_url"
"""Key of the XCom that has the address of the report."""


class PlimsollReportLink(BaseOperatorLink):
    """Open the report of DiagnoseOperator."""

    name = "Plimsoll report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address, or an empty text if there is no report."""
        return XCom.get_value(key=REPORT_URL, ti_key=ti_key) or ""
