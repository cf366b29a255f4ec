"""`plimsoll watch`: tell people once when a database nears a limit, reaches it, and leaves it."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import Option
from plimsoll.cli.option_groups import expand
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.watch.config import WatchSettings
    from plimsoll.watch.service import WatchService

CHECK = "check"
"""First argument that asks what would be done and what it would cost."""
EXAMPLE = "example"
"""First argument that asks for a configuration with all keys."""
_FORMS = ("logfmt", "json")


class WatchOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    targets: Annotated[tuple[str, ...], Option("[check | example] [TARGET]…")] = ()
    """
    rds:NAME, rds:'*', prom:URL, or a file or folder of metrics. 'check' prints what would be watched and what it would
    cost, 'example' prints a configuration with all keys.
    """
    config: Annotated[Path | None, Option("--config FILE")] = None
    """Read targets, receivers and rules from a file."""
    ledger: Annotated[Path | None, Option("--ledger FILE")] = None
    """Remember states and messages in this file (default: plimsoll-watch.db)."""
    is_once: Annotated[bool, Option("--once")] = False
    """Read, judge and send once, for example from cron."""
    starts_anyway: Annotated[bool, Option("--start-anyway")] = False
    """Start although a receiver cannot be reached; its messages wait until it can."""
    log_form: Annotated[str, Option("--log-format FORM")] = "logfmt"
    """Form of log lines: logfmt or json."""
    listen_address: Annotated[str | None, Option("--web.listen-address HOST:PORT")] = None
    """Answer HTTP at this address; '' for no server (default: 127.0.0.1:9780)."""
    web_config_file: Annotated[Path | None, Option("--web.config.file FILE")] = None
    """
    Read TLS, users and headers of the HTTP server from a file, in the form of Prometheus's exporters (default: no TLS,
    no password).
    """


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("watch")(expand(watch))


def watch(options: WatchOptions) -> int:
    """
    Watch databases, and tell people once when one nears a limit, reaches it or leaves it.

    To look at one database for a while, use 'plimsoll diagnose TARGET --watch 1m'.

    Without a file, transitions are logged and nothing is sent. SIGHUP reads the file again, SIGTERM and Ctrl-C
    end after the message that is being sent.

    Exit status: 0 ended, or with --once nothing is bound, 1 with --once something is bound, 2 something is
    unknown, or bad input.
    """
    if options.log_form not in _FORMS:
        raise UsageError(f"there is no log format '{options.log_form}'", "Use logfmt or json.")
    named = options.targets
    if named == (EXAMPLE,):
        from plimsoll.cli.watch.example import print_example

        print_example()
        return 0
    is_check = named[:1] == (CHECK,)

    def load() -> "WatchSettings":
        return _settings(named[1:] if is_check else named, options)

    if is_check:
        from plimsoll.cli.watch.check import print_check

        print_check(load())
        return 0
    return _watch(load, options)


def _settings(named: Sequence[str], options: WatchOptions) -> "WatchSettings":
    """
    Return the settings of a file, or of targets on the command line.

    Raises:
        UsageError: both or none are given, or the file cannot be used.
    """
    from msgspec.structs import replace

    from plimsoll.app.watch import check_files
    from plimsoll.watch.config import TargetSettings, WatchSettings, check_settings, read_settings

    config = options.config
    if config is not None and named:
        raise UsageError("targets and --config cannot be used together", "Name them in the file.")
    if config is None and not named:
        raise UsageError("there is nothing to watch", "Give a target, for example rds:'*', or --config FILE.")
    if config is not None:
        settings = read_settings(config)
    else:
        settings = WatchSettings(targets=tuple(TargetSettings(target=name) for name in named))
        check_settings(settings)
    check_files(settings)
    if options.ledger is not None:
        settings = replace(settings, ledger=str(options.ledger))
    web = settings.web
    if options.listen_address is not None:
        web = replace(web, listen_address=options.listen_address)
    if options.web_config_file is not None:
        web = replace(web, config_file=str(options.web_config_file))
    found = replace(settings, web=web)
    check_settings(found)
    return found


def _watch(load: "Callable[[], WatchSettings]", options: WatchOptions) -> int:
    from plimsoll import __version__
    from plimsoll.app.watch import clock, computations, open_targets, usd_per_metric
    from plimsoll.cli.watch.log_lines import logger
    from plimsoll.watch.config import open_access, open_receivers
    from plimsoll.watch.receivers.connecting import check_reachable
    from plimsoll.watch.service import OpenedConfiguration, WatchService
    from plimsoll.web.page import WebPage

    log = logger(options.log_form, time.time)

    is_started = False

    def opened() -> OpenedConfiguration:
        nonlocal is_started
        settings = load()
        found = OpenedConfiguration(
            settings=settings,
            targets=open_targets(settings),
            receivers=open_receivers(settings, note=lambda sentence: log("delivered in part", text=sentence)),
        )
        if not is_started and not options.starts_anyway:
            # A running watch takes a new configuration over in any case: messages wait in the outbox.
            check_reachable(settings.receivers, os.environ)
        is_started = True
        return found

    service = WatchService(
        opened,
        computations(),
        owner=f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}",
        clock=clock(),
        log=log,
        usd_per_metric=usd_per_metric(),
        version=__version__,
        page=WebPage,
        access=open_access(load(), log),
    )
    if options.is_once:
        status = service.once()
        if status is None:
            raise UsageError(
                "another process watches with this ledger",
                "End it, or wait a minute if it was killed, or give another file with --ledger.",
            )
        return status
    with _signals(service):
        service.run(on_listening=lambda address: log("listening", address=address))
    return 0


@contextmanager
def _signals(service: "WatchService") -> Iterator[None]:
    """Stop at SIGTERM and Ctrl-C, and reload at SIGHUP, inside the block; a second Ctrl-C does not wait."""
    interrupts: list[int] = []

    def interrupt(*_: object) -> None:
        interrupts.append(1)
        if len(interrupts) > 1:
            raise KeyboardInterrupt
        service.stop()

    handlers = {
        signal.SIGTERM: lambda *_: service.stop(),
        signal.SIGINT: interrupt,
        signal.SIGHUP: lambda *_: service.reload(),
    }
    before = {sign: signal.signal(sign, handler) for sign, handler in handlers.items()}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
