"""The Rust programs: where they are, and what they say when they fail."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import boto3

from claims_pipeline.errors import DataError, UnavailableError
from claims_pipeline.settings import Settings
from claims_pipeline.storage import region

AWAY = 5
"""The status with which claims-fetch says that S3 does not answer."""


def program_of(settings: Settings, name: str) -> str:
    """
    Return the path of a program.

    Raises:
        UnavailableError: it is not there.
    """
    found = shutil.which(name, path=settings.programs or None)
    if found is None:
        raise UnavailableError(
            f"there is no program {name}", "Build it with 'make programs', and name its folder in CLAIMS_PROGRAMS."
        )
    return str(Path(found).absolute())


def fetch_command(settings: Settings, key: str, sha256: str) -> list[str]:
    """Return the command that writes an object of the bucket to its output, and fails if it has another SHA-256."""
    command = [program_of(settings, "claims-fetch"), "--bucket", settings.s3_bucket]
    command += ["--key", key, "--region", region(), "--sha256", sha256]
    return command + (["--endpoint", settings.s3_endpoint] if settings.s3_endpoint else [])


def with_keys() -> dict[str, str]:
    """Return our environment with the keys of S3, wherever its client finds them."""
    environment = dict(os.environ)
    found = boto3.session.Session().get_credentials()
    if found is not None:
        keys = found.get_frozen_credentials()
        environment["AWS_ACCESS_KEY_ID"] = keys.access_key
        environment["AWS_SECRET_ACCESS_KEY"] = keys.secret_key
        if keys.token:
            environment["AWS_SESSION_TOKEN"] = keys.token
    return environment


def check(names: Sequence[str], programs: Sequence["subprocess.Popen[bytes]"]) -> None:
    """
    Wait for the programs of a pipeline, and raise if one failed: the first, which made the others fail.

    Raises:
        UnavailableError: S3 does not answer.
        DataError: anything else.
    """
    for program in programs:
        program.wait()
    for name, program in zip(names, programs, strict=True):
        if program.returncode:
            said = program.stderr.read().decode(errors="replace") if program.stderr else ""
            sentence, hint = _sentence(said, f"status {program.returncode}")
            kind = UnavailableError if program.returncode == AWAY else DataError
            raise kind(f"{name}: {sentence}", hint or "Nothing of this file was loaded.")


def _sentence(said: str, otherwise: str) -> tuple[str, str]:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    hint = next((line[6:] for line in lines if line.startswith("hint: ")), "")
    first = next((line for line in lines if not line.startswith("hint: ")), otherwise)
    for prefix in ("error: ", "claims-fetch: ", "claims-format: "):
        first = first.removeprefix(prefix)
    return first, hint
