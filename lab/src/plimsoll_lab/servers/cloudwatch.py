"""
Run a double of AWS (moto) that answers CloudWatch, RDS and the other APIs over HTTP.

Rule 1: its port is on loopback; it accepts any key and keeps everything in memory.
Rule 2: the rules of `server.py` apply.
"""

from typing import Any
from urllib.request import Request

from plimsoll_lab.servers.package import AWS
from plimsoll_lab.servers.pip import PYTHON
from plimsoll_lab.servers.server import answers, free_ports
from plimsoll_lab.servers.stored import StoredServer

LAUNCHED = "plimsoll:launched"
"""Tag of CreateDBInstance with the date that DescribeDBInstances gives as InstanceCreateTime."""

# A part of every signature, from which the double knows the service and the region.
_SIGNATURE = "AWS4-HMAC-SHA256 Credential=plimsoll/20190601/us-east-1/rds/aws4_request"


class AwsDouble(StoredServer):
    """Run a double of AWS while the `with` block lasts; clients use it with AWS_ENDPOINT_URL. It has no settings and no data."""

    kind = "aws"
    title = "the AWS double"
    package = AWS

    def _job(self) -> dict[str, Any]:
        (self.port,) = free_ports(1)
        program = self._write_program("plimsoll_lab.servers.programs.aws")
        return self._ended_by_signals([str(self._home / PYTHON), "-I", str(program), str(self.port)])

    def _takes_connections(self) -> bool:
        """Return whether RDS answers; the first answer loads the service."""
        question = Request(  # noqa: S310 - our own server on loopback
            f"{self.address}/",
            data=b"Action=DescribeDBInstances&Version=2014-10-31",
            headers={"Authorization": _SIGNATURE},
        )
        return answers(question)
