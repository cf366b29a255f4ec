"""
No secret of the environment, the configuration or the command line appears in anything we write.

Every secret is planted where people keep it; every command that meets one is run, in success and in
failure, against servers that quote what they were sent. Then all output and every file is searched.
"""

import base64
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from msgspec import Struct

from contract.here import person, run_here
from fixtures.aws import proxy, simulated
from fixtures.aws.commands import between, moment
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.aws.proxy import Proxy, Rule
from fixtures.prometheus.expositions import history
from fixtures.prometheus.servers import Double as Prometheus
from fixtures.prometheus.servers import Request, Wrong

pytestmark = pytest.mark.live

HOUR_S = 3600
END_S = simulated.recent_end_s()
WINDOW = between((END_S - 6 * HOUR_S, END_S))
NAME = "simulated-quiet"
NOWHERE = "127.0.0.1:1"
OUTPUT = "the output"

# Each is told from every other text; those of AWS have the length and the letters that it gives out.
KEY, SECRET = "AKIAPLANTEDKEYOFENV0", "planted/secret/of/the/environment/abcdef"
TOKEN = "planted-session-token-of-the-environment"
FILE_KEY, FILE_SECRET = "AKIAPLANTEDKEYOFFILE", "planted/secret/of/the/credentials/file/x"
FILE_TOKEN = "planted-session-token-of-the-file"
DSN_PASSWORD, PG_PASSWORD = "planted-password-of-the-dsn", "planted-password-of-libpq"
PROM_TOKEN, PROM_PASSWORD = "planted-bearer-token", "planted-password-of-prometheus"
URL_PASSWORD, HEADER = "planted:password@of/the#url", "planted-value-of-a-header"
POOLER_PASSWORD = "planted-password-of-a-pooler"
PROXY_PASSWORD, ENDPOINT_PASSWORD = "planted-password-of-a-proxy", "planted-password-of-an-endpoint"
SECRETS = (
    *(KEY, SECRET, TOKEN, FILE_KEY, FILE_SECRET, FILE_TOKEN, DSN_PASSWORD, PG_PASSWORD),
    *(PROM_TOKEN, PROM_PASSWORD, URL_PASSWORD, HEADER, PROXY_PASSWORD, ENDPOINT_PASSWORD),
    POOLER_PASSWORD,
)
USER = "planted-user"

PLANTED = {
    "AWS_ACCESS_KEY_ID": KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_SESSION_TOKEN": TOKEN,
    "PLIMSOLL_DSN": f"postgresql://{USER}:{DSN_PASSWORD}@{NOWHERE}/orders",
    "PGPASSWORD": PG_PASSWORD,
    "PLIMSOLL_PROM_USER": USER,
    "PLIMSOLL_PROM_PASSWORD": PROM_PASSWORD,
}
CREDENTIALS = f"""[planted]
aws_access_key_id = {FILE_KEY}
aws_secret_access_key = {FILE_SECRET}
aws_session_token = {FILE_TOKEN}
"""
# A line that is no setting, so that the library complains of the file and might quote it.
BROKEN_CREDENTIALS = f"[planted]\naws_secret_access_key = {FILE_SECRET}\n{FILE_TOKEN}\n"


class Command(Struct, frozen=True, kw_only=True):
    """One run: what is asked for, what stands in the way, and how it ends."""

    arguments: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    """How AWS fails."""
    variables: dict[str, str] = {}
    credentials: str = CREDENTIALS
    is_program: bool = False
    """Whether it runs in a process of its own, where libraries write to the streams themselves."""
    ends: frozenset[int] = frozenset({0, 1})
    """Exit statuses that show that the command got as far as it was meant to."""


class Place(Struct, frozen=True, kw_only=True):
    """Where the servers of the tests are."""

    double: Double
    prometheus: str
    """Address of one that answers, without scheme."""
    quoting: str
    """Address of one that refuses, and quotes what it was sent."""


FAILS = frozenset({2})
# Percent-encoded, as a person has to write it in an address.
IN_URL = f"{USER}:{quote(URL_PASSWORD, safe='')}"


def quoting(handler: proxy._Handler, request: proxy.Request) -> None:
    """A refusal whose message repeats every header that it was sent, the token of the session too."""
    sent = "; ".join(f"{name}: {value}" for name, value in handler.headers.items())
    shown = sent.replace("&", "and").replace("<", "(").replace(">", ")")
    fault = proxy.refusal(403, "SignatureDoesNotMatch", f"{shown}; secret {SECRET} {FILE_SECRET}")
    fault(handler, request)


def unknown_code(handler: proxy._Handler, request: proxy.Request) -> None:
    """An error that nobody documents, and the secret in its code, where AWS would never put it."""
    proxy.refusal(400, "Strange", f"your key {KEY} and {SECRET}")(handler, request)


class Quoting(Prometheus):
    """Refuses every request and repeats its headers."""

    def answer(self, request: Request) -> Wrong:
        """The headers, and what they hold once it is decoded."""
        sent = request.headers.get("authorization", "")
        plain = base64.b64decode(sent.rpartition(" ")[2] + "==").decode(errors="replace")
        body = {"status": "error", "errorType": "bad_data", "error": f"{request.headers} {plain}"}
        return Wrong(status=401, body=json.dumps(body).encode())


def of_aws() -> Iterator[Command]:
    """Every form of output, and every way to fail that has something to quote."""
    rds = f"rds:{NAME}"
    optional = tuple(Rule(fault=quoting, action=a) for a in ("rds:DescribeE", "ec2:", "logs:"))
    for form in (("--html", "r.html"), ("--format", "json"), ("--format", "markdown")):
        yield Command(arguments=("diagnose", rds, *WINDOW, *form), rules=optional)
    yield Command(arguments=("diagnose", "rds:*", *WINDOW, "--format", "json", "--html", "f.html"))
    yield Command(arguments=("compare", rds, *WINDOW, "--at", moment(END_S - 3 * HOUR_S)))
    of_file = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""}
    yield Command(arguments=("record", rds, *WINDOW, "--profile", "planted", "-o", "s.json.gz"), variables=of_file)
    for fault in (quoting, unknown_code):
        rule = Rule(fault=fault)
        yield Command(arguments=("diagnose", rds, *WINDOW), rules=(rule,), ends=FAILS)
    yield Command(
        arguments=("diagnose", rds, "--profile", "planted"), credentials=BROKEN_CREDENTIALS, is_program=True, ends=FAILS
    )
    for variable, password in (("AWS_ENDPOINT_URL", ENDPOINT_PASSWORD), ("HTTP_PROXY", PROXY_PASSWORD)):
        address = f"http://{USER}:{password}@{NOWHERE}"
        yield Command(arguments=("diagnose", rds, *WINDOW), variables={variable: address}, ends=FAILS)


def of_prometheus(place: Place) -> Iterator[Command]:
    """User and password in the address and in variables, a token, a header: answered, refused, unheard."""
    by_token = {"PLIMSOLL_PROM_USER": "", "PLIMSOLL_PROM_TOKEN": PROM_TOKEN}
    header = ("--header", f"X-Scope-OrgID:{HEADER}")
    asked = ("diagnose", f"prom:http://{IN_URL}@{place.prometheus}", *WINDOW)
    yield Command(arguments=(*asked, "--html", "p.html"), ends=frozenset({0, 1, 2}))
    yield Command(arguments=(*asked, "--format", "json"), ends=frozenset({0, 1, 2}))
    yield Command(
        arguments=("record", f"prom:http://{place.prometheus}", *header, *WINDOW, "-o", "p.json"), variables=by_token
    )
    for address in (place.quoting, NOWHERE):
        yield Command(arguments=("diagnose", f"prom:http://{IN_URL}@{address}", *header, *WINDOW), ends=FAILS)
        yield Command(
            arguments=("record", f"prom:http://{address}", *header, *WINDOW, "-o", "p.json"),
            variables=by_token,
            ends=FAILS,
        )
    bad = f"prom:http://{IN_URL}@[bad"
    yield Command(arguments=("diagnose", bad, *WINDOW), is_program=True, ends=FAILS)
    yield Command(arguments=("diagnose", f"prom:ftp://{IN_URL}@host", *WINDOW), ends=FAILS)


def of_files() -> Iterator[Command]:
    """Commands that need no server still run in an environment that is full of secrets."""
    example = str(simulated.ROOT / "examples" / "quiet")
    yield Command(arguments=("record", example, "-o", "s.json"))
    yield Command(arguments=("limits", "db.t3.xlarge"))
    yield Command(arguments=("record", "host", "--for", "1s"), ends=FAILS)
    mangled = f"postgresql://{USER}:{DSN_PASSWORD}@{NOWHERE}:x/?bad"
    yield Command(arguments=("record", "host", "--for", "1s", "--dsn", mangled), ends=FAILS)
    unheard = f"postgresql://{USER}:{DSN_PASSWORD}@{NOWHERE}/orders"
    for dsn in (mangled, unheard):
        yield Command(arguments=("inspect", dsn, "--for", "1s"), is_program=True, ends=FAILS)
        yield Command(arguments=("diagnose", example, "--dsn", dsn, "--for", "1s"), ends=FAILS)
        yield Command(arguments=("record", example, "--dsn", dsn, "-o", "d.json"), ends=FAILS)
    for place in (NOWHERE, "[bad"):
        pooler = f"pgbouncer://{USER}:{POOLER_PASSWORD}@{place}"
        yield Command(arguments=("inspect", "--for", "1s", "--pooler", pooler), ends=FAILS)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """An account with one simulated instance, a Prometheus that has another, and one that quotes."""
    folder = tmp_path_factory.mktemp("account")
    snapshot = simulated.moved(simulated.example("quiet"), END_S, identifier=NAME)
    time_ms = 1000 * np.arange(END_S - 6 * HOUR_S, END_S, 60)
    with (
        Double(write(folder, [hold(folder, snapshot)])) as double,
        Prometheus(history("yace", time_ms)) as answering,
        Quoting() as refusing,
    ):
        yield Place(double=double, prometheus=answering.address, quoting=refusing.address)


def run(place: Place, command: Command) -> tuple[int, dict[str, bytes]]:
    """Exit status, and everything that was written: the output, and every file by its name."""
    with (
        tempfile.TemporaryDirectory(prefix="plimsoll-secrets-") as folder,
        Proxy(place.double.port, list(command.rules)) as aws,
    ):
        home, here = Path(folder, "home"), Path(folder, "here")
        (home / ".aws").mkdir(parents=True)
        (home / ".aws" / "credentials").write_text(command.credentials)
        here.mkdir()
        variables = environment(aws.url, home, **PLANTED | command.variables)
        if command.is_program:
            done = subprocess.run(
                [sys.executable, "-m", "plimsoll", *command.arguments],
                cwd=here,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=120,
                check=False,
            )
            status, output = done.returncode, done.stdout
        else:
            with person(here, variables):
                status, output = run_here(command.arguments)
        written = {OUTPUT: output}
        for path in here.rglob("*"):
            raw = path.read_bytes()
            written[path.name] = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    return status, written


def forms_of(secret: str) -> set[bytes]:
    """A secret as it is, percent-encoded, and in base64, alone and with its user."""
    plain = {secret, quote(secret, safe=""), quote(secret)}
    coded = {base64.b64encode(text.encode()) for text in (secret, f"{USER}:{secret}")}
    return {text.encode() for text in plain} | coded


@pytest.mark.attack(
    "A command gets passwords, keys and tokens in every possible way", "no output, file or message contains one"
)
def test_no_output_holds_a_secret(place: Place):
    """Of none of the runs does any stream or file hold any form of any secret; each ends as it should."""
    commands = [*of_aws(), *of_prometheus(place), *of_files()]
    forms = {secret: forms_of(secret) for secret in SECRETS}
    runs = [run(place, command) for command in commands]
    texts = [
        f"{' '.join(command.arguments)}: {secret} in {name}"
        for command, (_, written) in zip(commands, runs, strict=True)
        for name, text in written.items()
        for secret, spellings in forms.items()
        if any(spelling in text for spelling in spellings)
    ]
    astray = [
        f"{' '.join(command.arguments)}: exit status {status}\n{written[OUTPUT].decode()}"
        for command, (status, written) in zip(commands, runs, strict=True)
        if status not in command.ends
    ]

    assert not texts, "\n".join(texts)
    assert not astray, "\n".join(astray)
    assert all(b"Traceback" not in written[OUTPUT] for _, written in runs)


def test_the_search_finds_what_is_there():
    """A secret is found as it is, percent-encoded and as basic authentication writes it."""
    header = base64.b64encode(f"{USER}:{URL_PASSWORD}".encode())

    assert {URL_PASSWORD.encode(), quote(URL_PASSWORD, safe="").encode(), header} <= forms_of(URL_PASSWORD)
