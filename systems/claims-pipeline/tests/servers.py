"""Real servers of the tests, and small deliveries for them; all data are made up here."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import psycopg

from claims_pipeline.command import main

ROOT = Path(__file__).parents[1]
WAIT_S = 120.0


def wait_for(what: str, is_so: Callable[[], object], timeout_s: float = WAIT_S) -> None:
    """Poll until it is so."""
    end = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end, f"waited {timeout_s} s for {what}"
        time.sleep(0.02)


@dataclass
class Servers:
    """What `plimsoll lab servers` started: addresses, and what clients need, by name."""

    program: subprocess.Popen[str]
    addresses: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls, *names: str, restart: bool = False) -> "Servers":
        words = (os.environ.get("PLIMSOLL") or shutil.which("plimsoll") or "").split()
        assert words, "set PLIMSOLL to the command that starts servers"
        options = [word for name in names for word in ("--start", name)]
        program = subprocess.Popen(
            [*words, "lab", "servers", *options, *(["--restart"] * restart)], stdout=subprocess.PIPE, text=True
        )
        found = cls(program)
        for line in program.stdout:
            if line.startswith("  "):
                separator = "=" if "=" in line.partition(" ")[0] or "AWS_" in line else ": "
                name, _, value = line.strip().partition(separator)
                found.notes[name] = value
            elif " answers at " in line:
                found.addresses[line.partition(" ")[0]] = line.rpartition(" ")[2].strip()
            wanted = {"s3": "AWS_DEFAULT_REGION", "sftp": "host key"}
            said = {name for name in names if wanted.get(name, "") in ("", *found.notes)}
            if set(names) == said == set(found.addresses):
                return found
        raise AssertionError(f"the servers did not start: status {program.wait()}")

    def stop(self) -> None:
        self.program.send_signal(signal.SIGINT)
        self.program.communicate(timeout=60)

    @property
    def sftp_folder(self) -> Path:
        """Return the folder that clients of the SFTP server see."""
        return Path(self.notes["key of clients"]).parent / "data"

    def environment(self, database_url: str, bucket: str) -> dict[str, str]:
        """Return the settings of the pipeline, with a database and a bucket of a test's own."""
        keys = {name: value for name, value in self.notes.items() if name.startswith("AWS_")}
        return {
            "CLAIMS_DATABASE_URL": database_url,
            "CLAIMS_SFTP_URL": self.addresses["sftp"],
            "CLAIMS_SFTP_KEY": self.notes["key of clients"],
            "CLAIMS_SFTP_HOST_KEY": self.notes["host key"],
            "CLAIMS_S3_ENDPOINT": self.addresses["s3"],
            "CLAIMS_S3_BUCKET": bucket,
            "CLAIMS_PROGRAMS": os.environ["CLAIMS_PROGRAMS"],
            "AWS_ACCESS_KEY_ID": keys["AWS_ACCESS_KEY_ID"],
            "AWS_SECRET_ACCESS_KEY": keys["AWS_SECRET_ACCESS_KEY"],
            "AWS_REGION": keys["AWS_DEFAULT_REGION"],
            "AWS_EC2_METADATA_DISABLED": "true",
        }


def command(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    """Start the command in a session of its own."""
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("CLAIMS_", "AWS_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "claims_pipeline", *words],
        env={**clean, "PYTHONPATH": str(ROOT / "src"), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def done(environment: dict[str, str], *words: str, status: int = 0) -> str:
    """Run the command to its end within this process, which is faster, and return what it wrote."""
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("CLAIMS_", "AWS_"))}
    said = io.StringIO()
    with patch.dict(os.environ, {**clean, **environment}, clear=True), redirect_stdout(said), redirect_stderr(said):
        found = main(words)
    assert status == found, said.getvalue()
    return said.getvalue()


def query(url: str, text: str, *values: object) -> list[tuple]:
    """Run a statement, and return its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(text, values or None)
        return found.fetchall() if found.description else []


def put(folder: Path, organisation: str, month: str, files: Iterable[tuple[str, str, bytes, dict]]) -> dict:
    """Write a delivery as the sender does: files, then the manifest; return the manifest."""
    place = folder / organisation / month
    place.mkdir(parents=True, exist_ok=True)
    listed = []
    for name, kind, content, more in files:
        (place / name).write_bytes(content)
        listed.append(
            {
                "name": name,
                "kind": kind,
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
                "records": content.count(b"\n"),
                "sums": {},
                "defects": {},
                **more,
            }
        )
    manifest = {"organisation": organisation, "month": month, "scale": 1, "seed": 1, "files": listed}
    (place / "manifest.json").write_text(json.dumps(manifest))
    return manifest
