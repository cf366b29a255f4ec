"""`plimsoll mcp` with the official client over standard input and output, as an assistant uses it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
COMMAND = [sys.executable, "-m", "plimsoll", "mcp"]
CANARY = "canary-71b0e4"
SECRETS = {
    "PLIMSOLL_DSN": f"postgresql://app:{CANARY}-dsn@127.0.0.1:1/orders?connect_timeout=2",
    "PGPASSWORD": f"{CANARY}-pg",
    "AWS_ACCESS_KEY_ID": f"AKIA{CANARY}",
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}-aws",
    "PLIMSOLL_PROM_TOKEN": f"{CANARY}-prom",
    "UNKNOWN_TO_US": f"{CANARY}-other",
}
ANSWER_BYTES_MAX = 8192
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

pytestmark = pytest.mark.live


def talk(use: Any, *options: str, mode: str = "auto", root: Path = EXAMPLES) -> Any:
    """Start the server as a client does, use it, and let the client end it."""

    async def run() -> Any:
        server = StdioServerParameters(
            command=COMMAND[0], args=[*COMMAND[1:], "--root", str(root), *options], env={**os.environ, **SECRETS}
        )
        async with Client(stdio_client(server), mode=mode) as client:
            return await use(client)

    return anyio.run(run)


def sent(result: Any) -> str:
    return result.model_dump_json(by_alias=True, exclude_none=True)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_solves_the_claims_pipeline(mode):
    """Two calls name the limit, the recommended change and its command; a third reads a whole report."""

    async def use(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert ["compare", "diagnose", "inspect", "limits", "plan"] == sorted(schemas)

        first = await client.call_tool("diagnose", {"target": "claims-pipeline"})
        assert "instance EBS throughput, baseline, 86.875 MB/s" in first.content[0].text
        assert "Next: call 'plan'" in first.content[0].text
        assert "instance_ebs_throughput" == first.structured_content["report"]["binding"]["family"]

        second = await client.call_tool("plan", {"target": "claims-pipeline"})
        assert "Recommended: option 2, db.m6g.xlarge" in second.content[0].text
        assert "--db-instance-class db.m6g.xlarge" in second.content[0].text
        assert second.structured_content["report"]["headline"].startswith("try db.m6g.xlarge")

        for name, result in (("diagnose", first), ("plan", second)):
            assert len(sent(result).encode()) <= ANSWER_BYTES_MAX
            jsonschema.validate(result.structured_content, schemas[name])

        (whole,) = (await client.read_resource(second.content[1].uri)).contents
        report = json.loads(whole.text)
        assert 6 == len(report["options"])
        assert report["headline"].startswith("try db.m6g.xlarge")

    talk(use, mode=mode)


def test_a_mistake_of_the_assistant_is_answered_with_the_remedy():
    """As a tool error in two lines, and the server goes on; a tool or a report that does not exist too."""

    async def use(client: Client) -> None:
        wrong = await client.call_tool("diagnose", {"target": "claims"})
        assert wrong.is_error
        cause, hint = wrong.content[0].text.split("\n")
        assert "error: 'claims' does not exist below the root folder" == cause
        assert "'claims-pipeline'" in hint

        with pytest.raises(Exception, match="there is no such tool"):
            await client.call_tool("execute_sql", {"sql": "select 1"})
        with pytest.raises(Exception, match="there is no such report"):
            await client.read_resource("plimsoll://reports/../../etc/passwd")

        assert not (await client.call_tool("limits", {"class": "db.t3.xlarge"})).is_error

    talk(use)


@pytest.mark.attack(
    "An assistant's client starts the server with passwords, keys and tokens in its environment, and calls every tool",
    "no tool, answer, error, report or line of the log contains one",
)
def test_a_canary_in_the_environment_never_comes_back(capfd):
    """The database does not answer, and its address with the password is in the message of the library."""

    async def use(client: Client) -> list[str]:
        texts = [sent(await client.list_tools()), str(client.instructions)]
        for tool, arguments in (
            ("inspect", {"seconds": 1}),
            ("inspect", {"seconds": 1, "target": "claims-pipeline"}),
            ("diagnose", {"target": "rds:orders"}),
            ("diagnose", {"target": "prom:http://127.0.0.1:1"}),
            ("diagnose", {"target": "/proc/self/environ"}),
            ("diagnose", {"target": "claims-pipeline"}),
        ):
            result = await client.call_tool(tool, arguments)
            texts.append(sent(result))
            texts += [
                sent(await client.read_resource(link.uri)) for link in result.content if link.type == "resource_link"
            ]
        return texts

    texts = talk(use, "--live", "prom:http://127.0.0.1:1")

    assert 10 == len(texts)
    assert [] == [text for text in texts if CANARY in text]
    assert CANARY not in "".join(capfd.readouterr())


def test_a_call_that_takes_too_long_is_ended():
    """The answer names the time; the process that worked is gone, and the next call is answered."""

    async def use(client: Client) -> None:
        late = await client.call_tool("plan", {"target": "claims-pipeline"})
        assert late.is_error
        assert late.content[0].text.startswith("error: no answer within 1 s")

    talk(use, "--timeout", "1s")


@pytest.mark.attack(
    "A repository in which a client starts the server has modules with the names of ours", "none of them is imported"
)
def test_modules_of_the_working_folder_are_not_imported(tmp_path, monkeypatch):
    """The processes of calls look for modules where the server does."""
    for name in ("anyio", "numpy", "msgspec", "pickle"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'pwned')!r}, 'w')\n")
    shutil.copytree(EXAMPLES / "quiet", tmp_path / "quiet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(globals(), "COMMAND", [str(Path(sys.executable).parent / "plimsoll"), "mcp"])

    async def use(client: Client) -> bool:
        return (await client.call_tool("diagnose", {"target": "quiet"})).is_error

    assert not talk(use, root=tmp_path)
    assert not (tmp_path / "pwned").exists()


@contextmanager
def started() -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    command = [*COMMAND, "--root", str(EXAMPLES)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        write(server, id=1, method="initialize", params=HELLO)
        assert b'"result"' in server.stdout.readline()
        write(server, method="notifications/initialized")
        yield server


def write(server: subprocess.Popen[bytes], **message: Any) -> None:
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def children(pid: int) -> set[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return {int(one) for one in found.stdout.split()}


@pytest.mark.parametrize("is_busy", [False, True])
@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda server: server.stdin.close(), 0),
        (lambda server: server.stdout.close(), 0),
        (lambda server: server.send_signal(signal.SIGINT), 130),
        (lambda server: server.send_signal(signal.SIGTERM), 130),
    ],
    ids=["input closed", "output closed", "SIGINT", "SIGTERM"],
)
def test_it_ends_quietly_and_leaves_nothing(end, status, is_busy):
    """Idle or in the middle of a call: no message, and no process that goes on."""
    working: set[int] = set()
    with started() as server:
        if is_busy:
            call = {"name": "plan", "arguments": {"target": "claims-pipeline"}}
            write(server, id=2, method="tools/call", params=call)
            deadline_s = time.monotonic() + 20
            while not working and time.monotonic() < deadline_s:
                working = children(server.pid)
            assert working
        end(server)

        assert status == server.wait(timeout=20)
        assert b"" == server.stderr.read()
    deadline_s = time.monotonic() + 10
    while (left := [pid for pid in working if Path(f"/proc/{pid}").exists()]) and (time.monotonic() < deadline_s):
        pass
    assert [] == left


def test_what_is_no_message_is_survived():
    """Broken JSON, bytes that are no text, deep nesting: the next message is answered."""
    with started() as server:
        server.stdin.write(b"garbage\n\xff\xfe\n" + b"[" * 100_000 + b"\n{}\n")
        write(server, id=2, method="tools/list", params={})
        while (answer := json.loads(server.stdout.readline())).get("id") != 2:
            pass
        server.stdin.close()

        assert 5 == len(answer["result"]["tools"])
        assert 0 == server.wait(timeout=20)
        assert b"" == server.stderr.read()
