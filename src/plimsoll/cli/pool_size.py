"""`plimsoll pool-size`: check the pools of several services against one server."""

import re
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.moments import seconds_of
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll.errors import UsageError
from plimsoll.model.pool_size import LoadPoint, PoolVerdict, ServerCapacity, Service
from plimsoll.model.postgres import SUPERUSER_RESERVED

_SERVICE = re.compile(r"(?P<name>[^=]+)=(?P<containers>\d{1,6})x(?P<pool>\d{1,6})")
_POINT = re.compile(r"(?P<busy>\d+(?:\.\d+)?):(?P<per_s>\d+(?:\.\d+)?)")


_SERVICES_PANEL = "Services"
_SERVER_PANEL = "Server"

Services = Annotated[
    int,
    typer.Option(
        "--services",
        metavar="N",
        min=0,
        help="Number of services with the same pools.",
        rich_help_panel=_SERVICES_PANEL,
    ),
]
Containers = Annotated[
    int,
    typer.Option(
        "--containers", metavar="N", min=1, help="Containers of each service.", rich_help_panel=_SERVICES_PANEL
    ),
]
Pool = Annotated[
    int,
    typer.Option(
        "--pool",
        metavar="N",
        min=1,
        help="Maximum connections of each container's pool.",
        rich_help_panel=_SERVICES_PANEL,
    ),
]
Named = Annotated[
    list[str] | None,
    typer.Option(
        "--service",
        metavar="NAME=CxP",
        help="A service with C containers and pools of P connections, for example orders=4x20. Repeatable.",
        rich_help_panel=_SERVICES_PANEL,
    ),
]
Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        envvar="PLIMSOLL_DSN",
        show_default=False,
        metavar="DSN",
        help="Read max_connections and the load from this server. Keep a password in PLIMSOLL_DSN, "
        "PGPASSWORD or ~/.pgpass.",
        rich_help_panel=_SERVER_PANEL,
    ),
]
Duration = Annotated[
    str,
    typer.Option("--for", metavar="TIME", help="Watch the load of --dsn for this long.", rich_help_panel=_SERVER_PANEL),
]
MaxConnections = Annotated[
    int | None,
    typer.Option(
        "--max-connections", metavar="N", min=1, help="max_connections of the server.", rich_help_panel=_SERVER_PANEL
    ),
]
Reserved = Annotated[
    int | None,
    typer.Option(
        "--reserved",
        metavar="N",
        min=0,
        help="Number of these connections that are reserved for superusers (default: 3).",
        rich_help_panel=_SERVER_PANEL,
    ),
]
Others = Annotated[
    int,
    typer.Option(
        "--others", metavar="N", min=0, help="Connections of all other clients.", rich_help_panel=_SERVER_PANEL
    ),
]
Vcpus = Annotated[
    int | None, typer.Option("--vcpus", metavar="N", min=1, help="vCPUs of the server.", rich_help_panel=_SERVER_PANEL)
]
DbClass = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help="Instance class, for example db.r5.2xlarge: its vCPUs are looked up.",
        rich_help_panel=_SERVER_PANEL,
    ),
]
Points = Annotated[
    list[str] | None,
    typer.Option(
        "--point",
        metavar="N:TPS",
        help="Measured transactions per second at N busy sessions, for example from pgbench -c N. Repeatable.",
        rich_help_panel=_SERVER_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("pool-size")(expand(pool_size, output=output_options(WIDTH_OF_PAIRS)))


def pool_size(
    services: Services = 0,
    containers: Containers = 1,
    pool: Pool = 10,
    service: Named = None,
    dsn: Dsn = None,
    duration: Duration = "30s",
    max_connections: MaxConnections = None,
    reserved: Reserved = None,
    others: Others = 0,
    vcpus: Vcpus = None,
    db_class: DbClass = None,
    point: Points = None,
    *,
    output: Output,
) -> None:
    """
    Check the total of all pools against max_connections and what the machine can run.

    When no server is described, it prints the total and the RDS classes that accept it by default.

    Exit status: 0 the pools fit, or no server was described; 1 they do not fit; 2 too little is known about
    the server, or bad input.
    """
    from plimsoll.pools.pool_size import size_pools

    asked = _services(services, containers, pool, service or [])
    points = tuple(_point(text) for text in point or ())
    room = _of_server(dsn, duration, points) if dsn else _room(points)
    given = {"connection_max": max_connections, "reserved": reserved, "vcpu_count": vcpus or _vcpus(db_class)}
    room = replace(room, others=others, **{k: v for k, v in given.items() if v is not None})
    sizing = size_pools(asked, room)
    is_named = any(value is not None for value in (dsn, max_connections, vcpus, db_class, point))
    if not is_named:
        from plimsoll.catalog.load import catalog
        from plimsoll.pools.pool_size import class_notes

        notes = class_notes(sizing.connections, others, catalog())
        sizing = replace(sizing, notes=(*notes, *sizing.notes))
    output.write(sizing)
    if not is_named:
        raise typer.Exit(0)
    raise typer.Exit({PoolVerdict.FITS: 0, PoolVerdict.UNKNOWN: 2}.get(sizing.verdict, 1))


def _services(count: int, containers: int, pool: int, named: list[str]) -> tuple[Service, ...]:
    if count > 10_000 or len(named) > 10_000:
        raise UsageError("more than 10,000 services were given", "Give those of one server only.")
    found = [Service(name=f"service {n}", containers=containers, pool=pool) for n in range(1, count + 1)]
    if count == 1:
        found = [replace(found[0], name="the service")]
    for text in named:
        match = _SERVICE.fullmatch(text)
        if match is None or not int(match["containers"]) or not int(match["pool"]):
            raise UsageError(
                f"service '{text}' is not NAME=CxP", "Write orders=4x20 for 4 containers with pools of 20."
            )
        found.append(Service(name=match["name"], containers=int(match["containers"]), pool=int(match["pool"])))
    if not found:
        raise UsageError(
            "no service was given", "Give --services 12 --containers 4 --pool 20, or --service orders=4x20 for each."
        )
    return tuple(found)


def _point(text: str) -> LoadPoint:
    match = _POINT.fullmatch(text)
    if match is None or not float(match["busy"]) or not float(match["per_s"]):
        raise UsageError(
            f"point '{text}' is not N:TPS", "Write 8:2100 for 2,100 transactions per second at 8 sessions."
        )
    return LoadPoint(busy=float(match["busy"]), per_s=float(match["per_s"]))


def _room(points: tuple[LoadPoint, ...]) -> ServerCapacity:
    from plimsoll.pools.concurrency import fit_curve

    curve = fit_curve(points)
    if points and curve is None:
        raise UsageError(
            "no curve fits these points: there are fewer than three session counts, or they are too close",
            "Measure at 1, 2, 4, 8, 16 and 32 sessions, for example with pgbench -c N.",
        )
    return ServerCapacity(curve=curve, reserved=SUPERUSER_RESERVED)


def _vcpus(db_class: str | None) -> int | None:
    if db_class is None:
        return None
    from plimsoll.catalog.load import catalog

    return catalog().instance_limits(db_class).vcpu_count


def _of_server(dsn: str, duration: str, points: tuple[LoadPoint, ...]) -> ServerCapacity:
    """Read capacity and load from a server; a curve of measured points replaces the observed one."""
    from plimsoll.causes.budget import budget_of
    from plimsoll.causes.connections import sessions as seen
    from plimsoll.causes.connections.work import curve_of
    from plimsoll.sources.postgres.parts import ReadingPart
    from plimsoll.sources.postgres.read import observe

    wants = frozenset({ReadingPart.SESSIONS})
    observation = observe(dsn, duration_s=seconds_of(duration, "--for"), wants=wants)
    server = observation.server
    curve = _room(points).curve or curve_of(observation, budget_of(observation))
    return ServerCapacity(
        connection_max=server.connection_max,
        reserved=server.reserved_connections,
        vcpu_count=server.vcpu_count,
        curve=curve,
        busy=seen.busy_between(observation.glances),
        per_s=seen.transactions_per_s(observation),
        taken_ratio=seen.taken_ratio(observation.glances),
    )
