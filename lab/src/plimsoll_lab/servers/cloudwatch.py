"""
Run a double of AWS (moto) that answers CloudWatch, RDS and the other APIs over HTTP.

Rule 1: its port is on loopback; it accepts any key and keeps everything in memory.
Rule 2: the rules of `server.py` apply.
"""

from pathlib import Path
from typing import Any
from urllib.request import Request

from plimsoll_lab.servers.package import AWS
from plimsoll_lab.servers.pip import PYTHON
from plimsoll_lab.servers.server import HOST, KeptServer, answers, free_ports
from plimsoll_lab.servers.store import ServerStore, default_store

LAUNCHED = "plimsoll:launched"
"""Tag of CreateDBInstance with the date that DescribeDBInstances gives as InstanceCreateTime."""

# A part of every signature, from which the double knows the service and the region.
_SIGNATURE = "AWS4-HMAC-SHA256 Credential=plimsoll/20190601/us-east-1/rds/aws4_request"


class AwsDouble(KeptServer):
    """Run a double of AWS while the `with` block lasts; clients use it with AWS_ENDPOINT_URL."""

    kind = "aws"
    title = "the AWS double"

    def __init__(self, *, store: ServerStore | None = None, also_remove: tuple[Path, ...] = ()) -> None:
        """
        Find moto, which is downloaded if it is not there; nothing is started yet.

        Args:
            store: where moto is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: there is no pip or no Python for it, or root has no other account to use.
            SourceError: the download failed.
        """
        super().__init__({}, also_remove)
        self._home = (store or default_store()).get(AWS)
        self.port = 0

    @property
    def version(self) -> str:
        """Return the version of moto."""
        return AWS.version

    @property
    def address(self) -> str:
        """Return the URL of every API, as AWS_ENDPOINT_URL has it."""
        return f"http://{HOST}:{self.port}"

    def _job(self) -> dict[str, Any]:
        (self.port,) = free_ports(1)
        program = self._write_program("plimsoll_lab.servers.programs.aws")
        return self._job_of(
            [str(self._home / PYTHON), "-I", str(program), str(self.port)], first=None, endings=["SIGTERM", "SIGKILL"]
        )

    def _takes_connections(self) -> bool:
        """Return whether RDS answers; the first answer loads the service."""
        question = Request(  # noqa: S310 - our own server on loopback
            f"{self.address}/",
            data=b"Action=DescribeDBInstances&Version=2014-10-31",
            headers={"Authorization": _SIGNATURE},
        )
        return answers(question)
