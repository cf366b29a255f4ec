"""
The command `claims-pipeline`.

Rule 1: a subcommand is a module with `add(parser)` and `run(arguments, settings)`; it is imported only when it is used.
Rule 2: an error is one sentence and a hint on standard error, and status 2. Ctrl-C is 130.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from claims_pipeline.errors import ClaimsError, UsageError
from claims_pipeline.settings import settings_of

BAD = 2
INTERRUPTED = 130

COMMANDS: dict[str, tuple[str, str]] = {
    "setup": ("claims_pipeline.database.setup", "create tables, the bucket and the import from S3"),
    "transfer": ("claims_pipeline.transfer.command", "bring deliveries from SFTP to S3"),
    "deliveries": ("claims_pipeline.transfer.deliveries", "list what was delivered and is not loaded"),
    "load": ("claims_pipeline.database.load", "load a delivery into the tables"),
    "refresh": ("claims_pipeline.views.command", "refresh the views whose tables have changed"),
    "check": ("claims_pipeline.checks.command", "test tables against a manifest, and the age of views"),
    "generate": ("claims_pipeline.generate.command", "write synthetic deliveries to a folder"),
}
"""By name: the module, and what the command does."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise the error instead of printing the usage."""
        raise UsageError(message, f"See {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except ClaimsError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        sys.stderr.write(f"error: {error.sentence}{hint}\n")
        return BAD
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(argv: list[str]) -> int:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {does}" for name, (_, does) in COMMANDS.items())
    top = Parser(
        prog="claims-pipeline",
        description="Files of Medicare claims: SFTP to S3 to PostgreSQL. Synthetic data only.",
        epilog=f"commands:\n{commands}\n\nSettings are environment variables CLAIMS_*; see README.md.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("command", metavar="COMMAND", choices=COMMANDS, help="see below")
    name = top.parse_args(argv[:1]).command
    module = import_module(COMMANDS[name][0])
    parser = Parser(prog=f"claims-pipeline {name}", description=module.__doc__)
    module.add(parser)
    arguments = parser.parse_args(argv[1:])
    return int(module.run(arguments, settings_of()))
