"""
Start the services and their clients, and write what they count.

Each line of the output is a JSON object: `time_s` since the start, `counts` since the start (README.md names its
fields), and the process ids of the JVMs in the first line. With --follow, each line of the input is a JSON object with settings to
change, for example {"rate": 40, "pool": 5}; the services end when the input does. The password of the role is in $PGPASSWORD.
"""

import argparse
import json
import os
import select
import signal
import sys
import time
from typing import Any

from pooled_cluster.services.errors import UsageError
from pooled_cluster.services.services import Services

_HINT = "For example: --set retry=backoff --set answer_s=5."
_PASSWORD = "PGPASSWORD"  # noqa: S105 - the name of libpq's variable


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    parser.add_argument("--host", default="127.0.0.1", help="PostgreSQL or a pooler (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, required=True, help="its port")
    parser.add_argument("--database", default="orders", help="database (default: orders)")
    parser.add_argument("--user", default="orders", help="role (default: orders)")
    parser.add_argument("--services", type=int, default=4, help="number of services (default: 4)")
    parser.add_argument("--instances", type=int, default=5, help="instances of each service (default: 5)")
    parser.add_argument("--pool", type=int, default=10, help="connections of each instance, at most (default: 10)")
    parser.add_argument("--kafka", metavar="ADDRESS", help="broker for placed orders (default: none)")
    parser.add_argument("--rate", type=float, default=0.0, help="business transactions per second (default: 0)")
    parser.add_argument("--heap-mb", type=int, help="heap of each JVM in MiB (default: by the connections)")
    parser.add_argument("--prepare-threshold", type=int, default=5,
        help="executions before a statement is prepared on the server; 0 for never (default: 5)",
    )  # fmt: skip
    parser.add_argument("--socket-timeout", type=int, default=0, metavar="S",
        help="end a statement without an answer after this time; 0 for never (default: 0)",
    )  # fmt: skip
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another setting; repeatable")
    parser.add_argument("--every", type=float, default=1.0, metavar="S", help="time between lines (default: 1)")
    parser.add_argument("--seconds", type=float, default=0.0, help="end after this time (default: at Ctrl-C)")
    parser.add_argument("--follow", action="store_true", help="read orders from standard input")


def run(arguments: argparse.Namespace) -> int:
    """
    Run the services until the time is over, the input ends, or Ctrl-C.

    Raises:
        UsageError: an option or an order cannot be used.
        UnavailableError: a service did not start, or ended.
    """
    if not 0 < arguments.every <= 3600:
        raise UsageError("--every must be above 0, and at most 3,600 s", "The default is 1.")
    services = Services(
        arguments.host,
        arguments.port,
        services=arguments.services,
        instances=arguments.instances,
        pool=arguments.pool,
        database=arguments.database,
        user=arguments.user,
        password=os.environ.get(_PASSWORD, ""),
        kafka=arguments.kafka,
        heap_mb=arguments.heap_mb,
        prepare_threshold=arguments.prepare_threshold,
        socket_timeout_s=arguments.socket_timeout,
        **{"rate": arguments.rate, **dict(setting_of(word) for word in arguments.set)},
    )
    # A service that is told to end by its supervisor ends as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with services:
        _write({"pids": services.pids, "ports": services.ports})
        _report(services, arguments)
    return 0


def setting_of(word: str) -> tuple[str, object]:
    """
    Return the name and the value of a setting, for example of `pool=5`.

    Raises:
        UsageError: it is not of this form.
    """
    name, sign, value = word.partition("=")
    if not sign or not name or not value:
        raise UsageError(f"'{word}' is not NAME=VALUE", _HINT)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def order_of(line: str) -> dict[str, Any]:
    """
    Return the settings of a line of the input.

    Raises:
        UsageError: it is not a JSON object.
    """
    try:
        order = json.loads(line)
    except ValueError as error:
        raise UsageError(f"an order is not JSON: {line.strip()[:80]}", 'Example: {"rate": 40}') from error
    if not isinstance(order, dict):
        raise UsageError(f"an order is not a JSON object: {line.strip()[:80]}", 'Example: {"rate": 40}')
    return order


def _report(services: Services, arguments: argparse.Namespace) -> None:
    """Write a line at each step, and follow orders between."""
    start = time.monotonic()
    orders = _Orders() if arguments.follow else None
    step = 0
    while not arguments.seconds or step * arguments.every < arguments.seconds:
        step += 1
        while (left := start + step * arguments.every - time.monotonic()) > 0:
            if orders is None:
                time.sleep(left)
            else:
                for line in orders.read(left):
                    services.set(**order_of(line))
                if orders.is_over:
                    return
        _write({"time_s": round(time.monotonic() - start, 3), "counts": services.counts().as_json()})


class _Orders:
    """The lines of standard input, as they come."""

    def __init__(self) -> None:
        self._rest = b""
        self.is_over = False

    def read(self, seconds: float) -> list[str]:
        """Return the lines that came; wait for the first for so long."""
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return []
        # Not through the buffer of `sys.stdin`, in which lines would wait unseen.
        came = os.read(sys.stdin.fileno(), 65_536)
        self.is_over = not came
        *lines, self._rest = (self._rest + came).split(b"\n")
        return [line.decode(errors="replace") for line in lines if line.strip()]


def _write(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
