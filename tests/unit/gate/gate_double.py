"""
Imitate the gate's daemon as a program: it mounts nothing, and answers like the daemon.

Questions are appended to `asked.jsonl` in the backing folder. With a file `refuse` there it refuses to
start with that text; with a file `mute` it ends before it is ready.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path


def main() -> int:
    """Answer questions until asked to stop."""
    config = json.loads(Path(sys.argv[1]).read_text())
    backing = Path(config["backing"])
    if (backing / "refuse").exists():
        sys.stderr.write((backing / "refuse").read_text())
        return 2
    if (backing / "mute").exists():
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = socket.socket(socket.AF_UNIX)
    server.bind(config["socket"])
    server.listen()
    write_line(config)
    sys.stdout.write(json.dumps({"ready": True}) + "\n")
    sys.stdout.flush()
    balances = dict(zip([s["name"] for s in config["chain"]], config["balance_ratio"], strict=True))
    while True:
        line, _ = server.accept()
        with line, line.makefile("rwb") as stream:
            while text := stream.readline():
                question = json.loads(text)
                with (backing / "asked.jsonl").open("a") as asked:
                    asked.write(json.dumps(question) + "\n")
                stream.write(json.dumps(answer(question, config, balances)).encode() + b"\n")
                stream.flush()


def answer(question: dict, config: dict, balances: dict) -> dict:
    """Return the answer to one question; orders change later answers."""
    match question:
        case {"ask": "status"}:
            return status(config, balances)
        case {"ask": "balance", "stage": stage, "ratio": ratio}:
            balances[stage] = ratio
            return {"done": True}
        case {"ask": "set", "chain": chain, "balance_ratio": ratios}:
            config["chain"] = chain
            balances.clear()
            balances.update(zip([s["name"] for s in chain], ratios, strict=True))
            return {"done": True}
        case {"ask": "lift"}:
            return {"lifted": True}
        case _:
            return {"error": "this is no question", "hint": "Ask for the status."}


def status(config: dict, balances: dict) -> dict:
    """Return reads of 128 KiB at 86.875 MB/s, throttled by the first stage."""
    first = config["chain"][0]["name"]
    with_credits = {s["name"] for s in config["chain"] if s["capacity"] > 0}
    return {
        "clock": config["clock"],
        "balance": {name: r if name in with_credits else None for name, r in balances.items()},
        "read_bytes_per_s": 86.875e6,
        "write_bytes_per_s": 0.0,
        "read_ops_per_s": 86.875e6 / 131_072,
        "write_ops_per_s": 0.0,
        "queue_depth": 16.0,
        "late_ratio": 0.0,
        "late_s_max": 0.0,
        "binding": first,
        "phase": "baseline",
        "chain": config["chain"],
    }


def write_line(config: dict) -> None:
    """Write one line of a record: a second in which the first stage throttled requests."""
    first = config["chain"][0]["name"]
    line = {
        "t": time.time(),
        "dt": 1.0,
        "read_ops": 663,
        "write_ops": 0,
        "read_bytes": 86_875_000,
        "write_bytes": 0,
        "read_wait_s_sum": 16.0,
        "write_wait_s_sum": 0.0,
        "queue_depth": 16.0,
        "balance": {first: 0.0},
        "binding": {first: {"seconds": 1.0, "phase": "baseline"}},
        "late_ops": 0,
        "late_s_max": 0.0,
        "late_s_sum": 0.0,
        "stall_s_max": 0.0,
        "fsyncs": 0,
    }
    handle = os.open(config["record"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, json.dumps(line).encode() + b"\n")
    os.close(handle)


if __name__ == "__main__":
    sys.exit(main())
