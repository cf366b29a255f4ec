"""An operator that loads files within the I/O budget of the database."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, BaseOperator

from airflow_provider_plimsoll.need import BudgetNeed
from airflow_provider_plimsoll.triggers.io_budget import IoBudgetTrigger

_CSV_ENDINGS = (".csv", ".csv.gz")
_INTERVAL_S = 60.0


class PacedLoadOperator(BaseOperator):
    """
    Load files or S3 objects into a table, as fast as the storage allows without hurting others.

    Each chunk and its row in a ledger are one transaction, so a retry goes on where the last try was stopped, and
    no row is loaded twice.

    :param files: paths on the worker or `s3://BUCKET/KEY`, plain or gzip.
    :param table: name, with its schema if need be.
    :param plimsoll_conn_id: id of a connection of type `plimsoll`.
    :param target: in place of the connection's, for example `rds:orders`.
    :param dsn_conn_id: id of the Postgres connection (default: the one that the connection names).
    :param row_format: `csv` or `text`, as COPY has them (default: by the names of the files).
    :param has_header: whether the first line of each file is no row.
    :param columns: of the rows in order (default: all of the table).
    :param reserve_ratio: credits that stay in every bucket, 0 to 1.
    :param finish_within: spend the credits evenly over this time.
    :param workers_max: upper bound of connections.
    :param commit_latency_ratio: send less while commits take longer than so many times as long as before.
    :param retry_balance_ratio: a retry first waits, deferred, until every bucket holds so many credits.
    :param retry_wait: longest time of that wait; then the load goes on by its pace.
    :param log_every: time between two lines of progress.
    """

    template_fields: Sequence[str] = ("files", "table", "plimsoll_conn_id", "target", "dsn_conn_id")

    def __init__(
        self,
        *,
        files: Sequence[str] | str,
        table: str,
        plimsoll_conn_id: str = "plimsoll_default",
        target: str | None = None,
        dsn_conn_id: str | None = None,
        row_format: str | None = None,
        has_header: bool = False,
        delimiter: str | None = None,
        null: str | None = None,
        quote: str | None = None,
        encoding: str = "UTF8",
        columns: Sequence[str] = (),
        reserve_ratio: float = 0.2,
        finish_within: timedelta | None = None,
        workers_max: int = 8,
        commit_latency_ratio: float | None = None,
        retry_balance_ratio: float | None = None,
        retry_wait: timedelta = timedelta(hours=2),
        log_every: timedelta = timedelta(seconds=30),
        **kwargs: Any,
    ) -> None:
        """Keep what to load; nothing is asked yet."""
        super().__init__(**kwargs)
        self.files = files
        self.table = table
        self.plimsoll_conn_id, self.target, self.dsn_conn_id = plimsoll_conn_id, target, dsn_conn_id
        self.row_format, self.has_header = row_format, has_header
        self.delimiter, self.null, self.quote = delimiter, null, quote
        self.encoding, self.columns = encoding, columns
        self.reserve_ratio, self.finish_within = reserve_ratio, finish_within
        self.workers_max, self.commit_latency_ratio = workers_max, commit_latency_ratio
        self.retry_balance_ratio, self.retry_wait = retry_balance_ratio, retry_wait
        self.log_every = log_every
        self._stop: threading.Event | None = None

    def execute(self, context: Any) -> dict[str, Any]:
        """Load, or on a retry wait for credits first; return what was done as XCom."""
        if self.retry_balance_ratio is not None and context["ti"].try_number > 1:
            self.defer(
                trigger=IoBudgetTrigger(
                    plimsoll_conn_id=self.plimsoll_conn_id,
                    target=self.target,
                    need=BudgetNeed(balance_ratio=self.retry_balance_ratio).to_dict(),
                    interval_s=_INTERVAL_S,
                    until_s=time.time() + self.retry_wait.total_seconds(),
                ),
                method_name="execute_after_wait",
            )
        return self._load()

    def execute_after_wait(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        """Load after the wait of a retry, whatever it ended with: the pace itself keeps the reserve."""
        self.log.info("The wait for credits ended (%s): %s", event["status"], event["text"])
        return self._load()

    def on_kill(self) -> None:
        """Stop: chunks that are not committed are rolled back, and a retry goes on after the others."""
        if self._stop is not None:
            self._stop.set()

    def _load(self) -> dict[str, Any]:
        import plimsoll

        self._stop = threading.Event()
        over = threading.Event()
        try:
            done = plimsoll.load_files(self._request(), watch=self._watch(over), stop=self._stop)
        except plimsoll.PlimsollError as error:
            raise AirflowException(f"{error.message}. {error.hint}".rstrip(". ")) from None
        finally:
            over.set()
        self.log.info(
            "Loaded %s rows; %s bytes were loaded by earlier tries", f"{done.row_count:,}", f"{done.earlier_bytes:,}"
        )
        if done.commits is not None:
            self.log.info("Beside it, %s", done.commits.sentence())
        return {
            "row_count": done.row_count,
            "loaded_bytes": done.loaded_bytes - done.earlier_bytes,
            "earlier_bytes": done.earlier_bytes,
        }

    def _request(self) -> Any:
        import plimsoll
        from airflow_provider_plimsoll.hooks.plimsoll import PlimsollHook

        hook = PlimsollHook(self.plimsoll_conn_id, self.target)
        target = hook.get_conn()
        files = (self.files,) if isinstance(self.files, str) else tuple(self.files)
        deadline_s = None
        if self.finish_within is not None:
            deadline_s = time.time() + self.finish_within.total_seconds()
        return plimsoll.LoadRequest(
            files=files,
            table=self.table,
            dsn=hook.dsn(self.dsn_conn_id or target.dsn_conn_id),
            copy=plimsoll.CopyOptions(
                is_csv=is_csv(files, self.row_format),
                has_header=self.has_header,
                delimiter=self.delimiter,
                null=self.null,
                quote=self.quote,
                encoding=self.encoding,
                columns=tuple(self.columns),
            ),
            target=target.target,
            instance=target.instance_options(),
            read_options=target.read_options(),
            terms=plimsoll.PaceTerms(reserve_ratio=self.reserve_ratio, deadline_s=deadline_s),
            workers_max=self.workers_max,
            commit_latency_ratio=self.commit_latency_ratio,
        )

    def _watch(self, over: threading.Event) -> Callable[[Any, Callable[[], Any]], None]:
        every_s = self.log_every.total_seconds()

        def tell(pace: Any, progress: Callable[[], Any]) -> None:
            while not over.wait(every_s):
                now = progress()
                total = f" of {now.total_bytes:,}" if now.total_bytes else ""
                self.log.info(
                    "%s%s bytes loaded, %s connections work, %.1f MB/s are allowed",
                    f"{now.loaded_bytes:,}",
                    total,
                    now.workers,
                    pace.allowance().bytes_per_s / 1e6,
                )

        def watch(pace: Any, progress: Callable[[], Any]) -> None:
            threading.Thread(target=tell, args=(pace, progress), daemon=True).start()

        return watch


def is_csv(files: Sequence[str], row_format: str | None) -> bool:
    """
    Return whether rows are CSV: as it was said, or by the names.

    Raises:
        AirflowException: another format, no file, or names of both kinds.
    """
    if row_format is not None:
        if row_format not in ("csv", "text"):
            raise AirflowException(f"there is no row_format '{row_format}': use csv or text")
        return row_format == "csv"
    kinds = {name.lower().endswith(_CSV_ENDINGS) for name in files}
    if not kinds:
        raise AirflowException("there is no file to load")
    if len(kinds) > 1:
        raise AirflowException("the files have names of different formats: give row_format")
    return kinds.pop()
