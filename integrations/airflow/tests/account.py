"""An AWS account that is a double: instances, their metrics, and a count of what is asked for."""

import http.client
import re
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import boto3

REGION = "eu-central-1"
KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
}
# Of db.m5.large and gp3 below 400 GiB: others leave 7 MB/s of a baseline of 81.25 MB/s.
BUSY = {"ReadThroughput": 37e6, "WriteThroughput": 37e6, "ReadIOPS": 600.0, "WriteIOPS": 600.0}
IDLE = {"ReadThroughput": 1e6, "WriteThroughput": 1e6, "ReadIOPS": 50.0, "WriteIOPS": 50.0}
_ALWAYS = {"ReadLatency": 0.002, "WriteLatency": 0.002, "DiskQueueDepth": 1.0, "CPUUtilization": 20.0}


def client(address: str, service: str) -> Any:
    """Return a client of the double."""
    return boto3.client(
        service, endpoint_url=address, region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing"
    )


def create(address: str, name: str) -> None:
    """Create an instance with throughput and IOPS credits."""
    client(address, "rds").create_db_instance(
        DBInstanceIdentifier=name,
        DBInstanceClass="db.m5.large",
        Engine="postgres",
        EngineVersion="16.3",
        AllocatedStorage=100,
        StorageType="gp3",
    )


def put(address: str, name: str, rates: Mapping[str, float], balance: float, minutes: range) -> None:
    """
    Put metrics, one sample for each of these minutes before now, and both balances in percent.
    """
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    values = {**_ALWAYS, **rates, "EBSByteBalance%": balance, "EBSIOBalance%": balance}
    data = [
        {
            "MetricName": metric,
            "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": name}],
            "Timestamp": now - timedelta(minutes=minute),
            "Value": value,
        }
        for metric, value in values.items()
        for minute in minutes
    ]
    for start in range(0, len(data), 500):
        client(address, "cloudwatch").put_metric_data(Namespace="AWS/RDS", MetricData=data[start : start + 500])


class CountingProxy:
    """Passes requests on to the double, and notes each with its time and its instance."""

    def __init__(self, address: str) -> None:
        self._to = urlsplit(address)
        self.requests: list[tuple[float, str, bytes]] = []
        self.delay_s = 0.0
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                proxy._pass_on(self)

            do_GET = do_PUT = do_HEAD = do_POST  # noqa: N815

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, operation: str, instance: str, since_s: float = 0.0) -> int:
        """Return how often an operation was asked for whose request names an instance."""
        return len(self.times(operation, instance, since_s))

    def times(self, operation: str, instance: str, since_s: float = 0.0) -> list[float]:
        return [
            moment
            for moment, name, body in list(self.requests)
            if name == operation and instance.encode() in body and moment >= since_s
        ]

    def _pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.requests.append((time.time(), _operation(handler, body), body))
        time.sleep(self.delay_s)
        onward = http.client.HTTPConnection(self._to.hostname or "", self._to.port, timeout=60)
        headers = {k: v for k, v in handler.headers.items() if k.lower() != "host"}
        try:
            onward.request(handler.command, handler.path, body, headers)
            answer = onward.getresponse()
            content = answer.read()
            handler.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in ("transfer-encoding", "content-length", "connection", "server", "date"):
                    handler.send_header(key, value)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)
        except OSError:
            # One of the two was killed; the client sees a connection that ends.
            handler.close_connection = True
        finally:
            onward.close()


def _operation(handler: BaseHTTPRequestHandler, body: bytes) -> str:
    named = re.search(rb"Action=(\w+)", body)
    if named:
        return named[1].decode()
    target = handler.headers.get("X-Amz-Target") or handler.path
    return target.rpartition(".")[2].rpartition("/")[2]
