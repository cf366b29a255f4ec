"""What a target is: instances of an account, a server, or files. A text is parsed once, by `target_of`."""

from pathlib import Path

from msgspec import Struct

RDS, PROMETHEUS = "rds:", "prom:"
EVERY = "*"
"""The identifier that selects every instance of a folder or file."""


class Rds(Struct, frozen=True):
    """`rds:NAME`: instances of an AWS account."""

    name: str
    """Name or ARN of one, or a pattern of several, for example `orders-*`."""

    @property
    def is_pattern(self) -> bool:
        """Return whether it can match several instances."""
        return _is_pattern(self.name)

    def __str__(self) -> str:
        """Return the target as it is written."""
        return f"{RDS}{self.name}"


class Prometheus(Struct, frozen=True):
    """`prom:URL`: a server with metrics of instances."""

    url: str

    def __str__(self) -> str:
        """Return the target as it is written."""
        return f"{PROMETHEUS}{self.url}"


class Files(Struct, frozen=True):
    """A recorded snapshot, a file or folder of exported metrics, or `-` for standard input."""

    name: str

    @property
    def path(self) -> Path:
        """Return the path of the file or folder."""
        return Path(self.name)

    @property
    def is_standard_input(self) -> bool:
        """Return whether it can be read only once."""
        return self.name == "-"

    def __str__(self) -> str:
        """Return the target as it is written."""
        return self.name


Target = Rds | Prometheus | Files
LIVE = (Rds, Prometheus)
"""Kinds of targets that are read up to now."""


def target_of(text: "str | Target") -> Target:
    """Return what a text names; a target that was parsed before is returned as it is."""
    if not isinstance(text, str):
        return text
    if text.startswith(RDS):
        return Rds(text.removeprefix(RDS))
    return Prometheus(text.removeprefix(PROMETHEUS)) if text.startswith(PROMETHEUS) else Files(text)


def is_several(target: Target, identifier: str | None) -> bool:
    """Return whether a target, and the `--identifier` given with it, select several instances."""
    match target:
        case Rds():
            return target.is_pattern
        case Prometheus():
            return identifier is not None and _is_pattern(identifier)
        case Files():
            return identifier == EVERY


def _is_pattern(name: str) -> bool:
    return not set("*?[").isdisjoint(name)
