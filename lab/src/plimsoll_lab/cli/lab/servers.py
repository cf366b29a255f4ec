"""`plimsoll lab servers`: which real servers the lab has, and getting those that it lacks."""

import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from enum import StrEnum
from typing import Annotated

import typer

from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import is_color, width_option
from plimsoll.errors import UsageError


class Downloaded(StrEnum):
    """What can be downloaded."""

    KAFKA = "kafka"
    OPENSEARCH = "opensearch"
    ELASTICSEARCH = "elasticsearch"
    S3 = "s3"
    SFTP = "sftp"
    PROMETHEUS = "prometheus"
    ALERTMANAGER = "alertmanager"
    ETCD = "etcd"
    PATRONI = "patroni"
    PGPOOL = "pgpool"
    PGBOUNCER = "pgbouncer"
    AWS = "aws"


class Started(StrEnum):
    """What can be started."""

    POSTGRES = "postgres"
    KAFKA = "kafka"
    OPENSEARCH = "opensearch"
    ELASTICSEARCH = "elasticsearch"
    S3 = "s3"
    SFTP = "sftp"
    PROMETHEUS = "prometheus"
    ALERTMANAGER = "alertmanager"
    ETCD = "etcd"
    PATRONI = "patroni"
    PGPOOL = "pgpool"
    PGBOUNCER = "pgbouncer"
    AWS = "aws"


def register(lab: typer.Typer) -> None:
    """Add the command to `plimsoll lab`."""
    lab.command("servers")(servers)


def servers(
    get: Annotated[
        list[Downloaded] | None,
        typer.Option(
            "--get", metavar="NAME", help="Download this server. Repeatable. The list without options names them."
        ),
    ] = None,
    start: Annotated[
        list[Started] | None,
        typer.Option(
            "--start",
            metavar="NAME",
            help="Start this server, or postgres, on loopback until Ctrl-C; its data are removed at the end. Repeatable. patroni is a "
            "cluster of three nodes; pgpool and pgbouncer stand in front of the patroni or postgres named before them.",
        ),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Start a server again that was killed, with its data and at the same address: for tests of what "
            "a crash does to a system. With --start.",
        ),
    ] = False,
    width: Annotated[int | None, width_option()] = None,
) -> None:
    """
    List the real servers that experiments start; download or start them.

    For example: plimsoll lab servers --start kafka.

    The list names what is on this machine, and what would be downloaded with which registry client. Downloads
    are checked against locked checksums, or by apt, and kept in a cache folder: $PLIMSOLL_CACHE, or
    ~/.cache/plimsoll, or /var/cache/plimsoll for root. Afterwards the servers start offline.

    Exit status: 0 done, 2 a server could not be downloaded or did not start.
    """
    from plimsoll.reports.document.text import document_text
    from plimsoll_lab.reports.lab.servers import servers_document
    from plimsoll_lab.servers.listing import lab_servers
    from plimsoll_lab.servers.store import default_store

    store = default_store()
    for name in get or ():
        _get(name.value)
    if start:
        _start([name.value for name in start], restart=restart)
        return
    if restart:
        raise UsageError("--restart is without --start", "Add the servers, for example --start kafka.")
    document = servers_document(lab_servers(store), str(store.folder))
    sys.stdout.write(document_text(document, width=width, color=is_color()))


def _start(names: Sequence[str], *, restart: bool) -> None:
    """Start servers, download what is missing first, and wait for Ctrl-C."""
    from plimsoll_lab.servers.started import PACKAGES_OF, StartedServer, start

    def report(server: StartedServer) -> None:
        lines = (f"{server.name} {server.version} answers at {server.address}", *server.notes)
        sys.stdout.write("\n  ".join(lines) + "\n")
        sys.stdout.flush()

    for name in names:
        for package in PACKAGES_OF.get(name, (name,)):
            _get(package)
    with ended_like_ctrl_c(), suppress(KeyboardInterrupt), ExitStack() as stack:
        start(names, stack, report, restart=restart)
        sys.stderr.write("Press Ctrl-C to stop.\n")
        threading.Event().wait()


def _get(name: str) -> None:
    """Download a server if it is to be downloaded, with its size first and a line that counts the bytes."""
    from plimsoll_lab.servers.package import PACKAGES
    from plimsoll_lab.servers.store import default_store, download_bytes

    package, store = PACKAGES.get(name), default_store()
    if package is None or store.find(package) is not None:
        return
    total = download_bytes(package) / 1e6
    sys.stderr.write(f"Getting {package.title} with {package.client}: {total:.1f} MB to download\n")

    def count(come: int, size: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{come / 1e6:.1f} of {size / 1e6:.1f} MB")
            sys.stderr.flush()

    home = store.get(package, count)
    start = "\r" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{start}{package.title} is in {home}\n")
