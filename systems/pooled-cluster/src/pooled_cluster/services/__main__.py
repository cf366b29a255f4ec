"""
Run a command of the services: `python -m pooled_cluster.services run` or `fill`.

Rule: an error is one sentence and a hint on standard error, and status 2. Ctrl-C is 130.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from pooled_cluster.services import command, fill_command
from pooled_cluster.services.errors import ServicesError, UsageError

BAD = 2
INTERRUPTED = 130
COMMANDS = {"run": command, "fill": fill_command}
"""By name: the module, with `add(parser)` and `run(arguments)`."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise the error instead of printing the usage."""
        raise UsageError(message, f"See {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    top = Parser(prog="pooled_cluster.services", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        does = (module.__doc__ or "").strip()
        parser = commands.add_parser(
            name, help=does.splitlines()[0], description=does, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add(parser)
    try:
        arguments = top.parse_args(argv)
        return int(COMMANDS[arguments.command].run(arguments))
    except ServicesError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        sys.stderr.write(f"error: {error.sentence}{hint}\n")
        return BAD
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
