"""The commands of the services, as other programs drive them."""

import json
import os
import signal
import subprocess
import sys

import pytest
from services.ground import ROOT, is_running, wait_for

SERVICES = ("--services", "1", "--instances", "1", "--pool", "2", "--every", "0.2")


def start(database, *words):
    """Start a command in a session of its own."""
    where = [] if database is None else ["--port", str(database.port), "--database", database.target["database"],
        "--user", database.target["user"]]  # fmt: skip
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "pooled_cluster.services", *words[:1], *where, *words[1:]],
        env={**os.environ, "PYTHONPATH": path, "PGPASSWORD": "" if database is None else database.target["password"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_orders_are_followed_until_the_input_ends(database):
    """Each line of the input changes settings; the end of the input ends all."""
    program = start(database, "run", *SERVICES, "--follow")
    first = json.loads(program.stdout.readline())
    program.stdin.write('{"rate": 40}\n{"think_ms": 5}\n')
    program.stdin.flush()
    wait_for("work", lambda: json.loads(program.stdout.readline())["counts"]["done"] > 10)
    _, errors = program.communicate(timeout=60)

    assert (program.returncode, errors) == (0, "")
    assert len(first["pids"]) == len(first["ports"]) == 1
    assert not any(map(is_running, first["pids"]))


@pytest.mark.parametrize(
    ("sign", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)],
    ids=["ctrl-c", "term", "kill"],
)
def test_whatever_ends_it_ends_the_jvms(database, sign, status):
    """No JVM outlives the command, also after kill -9."""
    program = start(database, "run", *SERVICES, "--rate", "20", "--set", "hold_ms=200")
    pids = json.loads(program.stdout.readline())["pids"]
    wait_for("work", lambda: json.loads(program.stdout.readline())["counts"]["done"] > 0)
    assert all(map(is_running, pids))
    program.send_signal(sign)
    _, errors = program.communicate(timeout=60)

    assert (program.returncode, errors) == (status, "")
    wait_for("the end of the JVMs", lambda: not any(map(is_running, pids)))


def test_it_ends_after_a_time(database):
    """With --seconds it ends by itself, and the last line has all counts."""
    program = start(database, "run", *SERVICES, "--rate", "20", "--seconds", "1")
    output, errors = program.communicate(timeout=120)
    lines = [json.loads(line) for line in output.splitlines()]

    assert (program.returncode, errors) == (0, "")
    assert len(lines) == 1 + 5
    assert lines[-1]["counts"]["arrivals"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--services", "0"), "services must be 1 to 50, not 0"),
        (("--every", "0"), "--every must be above 0, and at most 3,600 s"),
        (("--set", "rate"), "'rate' is not NAME=VALUE"),
        (("--set", "leak=2", *SERVICES), "leak must be a share of 0 to 1"),
        (("--set", "speed=2", *SERVICES), "there is no setting 'speed'"),
        (("--heap-mb", "1"), "heap_mb must be 8 to 65,536, not 1"),
        (("--pool", "many"), "argument --pool: invalid int value: 'many'"),
        (("--kafka", "127.0.0.1:9", *SERVICES), "Kafka at 127.0.0.1:9 does not answer"),
    ],
)
def test_a_wrong_option_is_one_sentence(database, words, said):
    """What cannot be used ends with one sentence, a hint and status 2."""
    program = start(database, "run", *words)
    output, errors = program.communicate(timeout=120)

    assert (program.returncode, output) == (2, "")
    assert errors.startswith("error: ")
    assert said in errors
    assert len(errors.splitlines()) <= 2


def test_a_wrong_order_ends_it(database):
    """An order that is not JSON, or no setting, ends the command with one sentence."""
    for order, said in (
        ("rate=4\n", "is not JSON"),
        ('["rate"]\n', "is not a JSON object"),
        ('{"rate": -1}\n', "rate must be"),
    ):
        program = start(database, "run", *SERVICES, "--follow")
        program.stdout.readline()
        program.stdin.write(order)
        program.stdin.flush()
        program.wait(60)
        errors = program.stderr.read()
        program.communicate()
        assert program.returncode == 2
        assert said in errors


def test_fill_says_what_it_did(database):
    """Tables that are filled stay as they are."""
    program = start(database, "fill", "--customers", "7")
    output, errors = program.communicate(timeout=60)

    assert (program.returncode, output, errors) == (0, "the tables are filled already\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--port", "9"), "the tables cannot be filled: connection"),
        (("--port", "9", "--products", "3"), "products must be 10 to 50,000,000, not 3"),
    ],
)
def test_fill_names_what_is_wrong(words, said):
    """A server that does not answer, or a number out of range, is one sentence."""
    program = start(None, "fill", *words)
    _, errors = program.communicate(timeout=60)

    assert program.returncode == 2
    assert errors.startswith(f"error: {said}")
