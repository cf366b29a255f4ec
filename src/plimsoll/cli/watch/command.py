"""`plimsoll watch`: tell people once when a database nears a limit, reaches it, and leaves it."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.errors import UsageError
from plimsoll.watch.defaults import ADDRESS, LEDGER

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.watch.config import WatchSettings
    from plimsoll.watch.service import WatchService

CHECK = "check"
"""First argument that asks what would be done and what it would cost."""
EXAMPLE = "example"
"""First argument that asks for a configuration with all keys."""
_FORMS = ("logfmt", "json")

Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[check | example] [TARGET]…",
        help="rds:NAME, rds:'*', prom:URL, or a file or folder of metrics. 'check' prints what would be "
        "watched and what it would cost, 'example' prints a configuration with all keys.",
    ),
]
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Read targets, receivers and rules from a file.")
]
LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", metavar="FILE", help=f"Remember states and messages in this file (default: {LEDGER})."),
]
Once = Annotated[bool, typer.Option("--once", help="Read, judge and send once, for example from cron.")]
StartAnyway = Annotated[
    bool,
    typer.Option("--start-anyway", help="Start although a receiver cannot be reached; its messages wait until it can."),
]
ListenAddress = Annotated[
    str | None,
    typer.Option(
        "--web.listen-address",
        metavar="HOST:PORT",
        help=f"Answer HTTP at this address; '' for no server (default: {ADDRESS}).",
    ),
]
WebConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--web.config.file",
        metavar="FILE",
        help="Read TLS, users and headers of the HTTP server from a file, in the form of Prometheus's exporters "
        "(default: no TLS, no password).",
    ),
]
LogForm = Annotated[str, typer.Option("--log-format", metavar="FORM", help="Form of log lines: logfmt or json.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("watch")(watch)


def watch(
    targets: Targets = None,
    *,
    config: Config = None,
    ledger: LedgerFile = None,
    is_once: Once = False,
    starts_anyway: StartAnyway = False,
    log_form: LogForm = "logfmt",
    listen_address: ListenAddress = None,
    web_config_file: WebConfigFile = None,
) -> int:
    """
    Watch databases, and tell people once when one nears a limit, reaches it or leaves it.

    To look at one database for a while, use 'plimsoll diagnose TARGET --watch 1m'.

    Without a file, transitions are logged and nothing is sent. SIGHUP reads the file again, SIGTERM and Ctrl-C
    end after the message that is being sent.

    Exit status: 0 ended, or with --once nothing is bound, 1 with --once something is bound, 2 something is
    unknown, or bad input.
    """
    if log_form not in _FORMS:
        raise UsageError(f"there is no log format '{log_form}'", "Use logfmt or json.")
    named = list(targets or [])
    if named == [EXAMPLE]:
        from plimsoll.cli.watch.example import print_example

        print_example()
        return 0
    is_check = named[:1] == [CHECK]
    named = named[1:] if is_check else named

    def load() -> "WatchSettings":
        settings = _settings(named, config, ledger)
        return _with_web(settings, listen_address, web_config_file)

    if is_check:
        from plimsoll.cli.watch.check import print_check

        print_check(load())
        return 0
    return _watch(load, is_once=is_once, starts_anyway=starts_anyway, log_form=log_form)


def _settings(named: list[str], config: Path | None, ledger: Path | None) -> "WatchSettings":
    """
    Return the settings of a file, or of targets on the command line.

    Raises:
        UsageError: both or none are given, or the file cannot be used.
    """
    from msgspec.structs import replace

    from plimsoll.app.watch import check_files
    from plimsoll.watch.config import TargetSettings, WatchSettings, check_settings, read_settings

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
    return settings if ledger is None else replace(settings, ledger=str(ledger))


def _with_web(settings: "WatchSettings", listen_address: str | None, config_file: Path | None) -> "WatchSettings":
    """Return settings with the options of the command line about the HTTP server."""
    from msgspec.structs import replace

    from plimsoll.watch.config import check_settings

    web = settings.web
    if listen_address is not None:
        web = replace(web, listen_address=listen_address)
    if config_file is not None:
        web = replace(web, config_file=str(config_file))
    found = replace(settings, web=web)
    check_settings(found)
    return found


def _watch(load: "Callable[[], WatchSettings]", *, is_once: bool, starts_anyway: bool, log_form: str) -> int:
    from plimsoll import __version__
    from plimsoll.app.watch import clock, computations, open_targets, usd_per_metric
    from plimsoll.cli.watch.log_lines import logger
    from plimsoll.watch.config import open_access, open_receivers
    from plimsoll.watch.receivers.connecting import check_reachable
    from plimsoll.watch.service import OpenedConfiguration, WatchService
    from plimsoll.web.page import WebPage

    log = logger(log_form, time.time)

    is_started = False

    def opened() -> OpenedConfiguration:
        nonlocal is_started
        settings = load()
        found = OpenedConfiguration(
            settings=settings,
            targets=open_targets(settings),
            receivers=open_receivers(settings, note=lambda sentence: log("delivered in part", text=sentence)),
        )
        if not is_started and not starts_anyway:
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
    if is_once:
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
