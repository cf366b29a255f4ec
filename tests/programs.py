"""Programs that tests run, and scripts that stand for programs."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def ran(command: Sequence[str | Path], *, check: bool = False, **options: Any) -> subprocess.CompletedProcess[str]:
    """A program that has run to its end, with the texts of both its streams."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **options)


def script(path: Path, body: str) -> Path:
    """A program of these lines of shell; folders above it are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
