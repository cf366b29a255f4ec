"""
The command `search-service`.

Rule 1: a subcommand is a module with `add(parser)` and `run(arguments, settings)`; it is imported only when it is used.
Rule 2: an error is one sentence and a hint on standard error, and status 2. Ctrl-C is 130.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from search_service.errors import ServiceError
from search_service.settings import settings_of

BAD = 2
INTERRUPTED = 130

COMMANDS = {
    "setup": ("search_service.setup_command", "create tables, topics and the first index"),
    "indexer": ("search_service.indexer_command", "apply events and index what changed"),
    "api": ("search_service.api.command", "answer searches over HTTP"),
    "load": ("search_service.load_command", "write made-up events to Kafka"),
    "admin": ("search_service.admin.command", "rebuild, verify and clean the index"),
    "status": ("search_service.status_command", "say how far events and documents have come"),
}
"""By name: the module, and what the command does."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise the error instead of printing the usage."""
        raise ServiceError(message, f"See {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except ServiceError as error:
        hint = f"\n{error.hint}" if error.hint else ""
        sys.stderr.write(f"search-service: {error.sentence}{hint}\n")
        return BAD
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(argv: list[str]) -> int:
    commands = "\n".join(f"  {name:<9} {does}" for name, (_, does) in COMMANDS.items())
    top = Parser(
        prog="search-service",
        description="Text search over entities that several services own.",
        epilog=f"commands:\n{commands}\n\nSettings are environment variables SEARCH_*; see README.md.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("command", metavar="COMMAND", choices=COMMANDS, help="see below")
    name = top.parse_args(argv[:1]).command
    module = import_module(COMMANDS[name][0])
    parser = Parser(prog=f"search-service {name}", description=module.__doc__)
    module.add(parser)
    arguments = parser.parse_args(argv[1:])
    return int(module.run(arguments, settings_of()))
