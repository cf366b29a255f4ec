"""A real Prometheus on loopback for one test session, its data in a scratch folder."""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode
from urllib.request import urlopen

from live.installed import program

READY_S = 20.0


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def wait_for(what: str, is_so: Callable[[], Any]) -> Any:
    """The first true answer, asked for again and again until a deadline."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if found := is_so():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen in {READY_S:g} s")


class PrometheusServer:
    """
    Debian's Prometheus, run as a plain process until the end of its `with` block.

    Args:
        folder: scratch; holds configuration, data and log.
        jobs: scrape job by name, as in a configuration file.
        backfill: an OpenMetrics text that is made into blocks before the start.
        rules: files of rules, which are evaluated each second.
        alertmanagers: host and port of each Alertmanager that alerts are sent to.
        interval_s: between scrapes, which is also their patience.
    """

    def __init__(
        self,
        folder: Path,
        jobs: Mapping[str, dict[str, Any]],
        backfill: str,
        rules: Sequence[Path] = (),
        alertmanagers: Sequence[str] = (),
        interval_s: int = 1,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.log = folder / "prometheus.log"
        programs = {name: program(name) for name in ("prometheus", "promtool")}
        self._program = str(programs["prometheus"])
        scrapes = [{"job_name": name, **job} for name, job in jobs.items()]
        configuration = {
            "global": {
                "scrape_interval": f"{interval_s}s",
                "scrape_timeout": f"{interval_s}s",
                "evaluation_interval": "1s",
            },
            "rule_files": [str(path) for path in rules],
            "storage": {"tsdb": {"out_of_order_time_window": "2d"}},
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [*alertmanagers]}]}]},
            "scrape_configs": scrapes,
        }
        # JSON is YAML as well.
        (folder / "prometheus.yml").write_text(json.dumps(configuration))
        (folder / "backfill.txt").write_text(backfill)
        into = ["create-blocks-from", "openmetrics", "-q", "backfill.txt", "data"]
        subprocess.run(
            [str(programs["promtool"]), "tsdb", *into], cwd=folder, check=True, capture_output=True, timeout=60
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    self._program,
                    f"--config.file={self.folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self.folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log,
                stderr=log,
            )
        wait_for(f"the start (see {self.log})", self._is_ready)
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        try:
            with urlopen(f"{self.url}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def query(self, query: str) -> list[dict[str, Any]]:
        """What the server itself says, not through our code."""
        line = urlencode({"query": query})
        with urlopen(f"{self.url}/api/v1/query?{line}", timeout=10) as answer:
            return json.load(answer)["data"]["result"]
