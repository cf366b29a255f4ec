"""`plimsoll pool-size`: pools of many services against one server, and what to make of them."""

import re
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.moments import seconds_of
from plimsoll.cli.output import Form, Format, Html, WideWidth, show, write_page
from plimsoll.errors import UsageError
from plimsoll.model.pool_size import LoadPoint, PoolVerdict, ServerCapacity, Service

_RESERVED = 3
_SERVICE = re.compile(r"(?P<name>[^=]+)=(?P<containers>\d{1,6})x(?P<pool>\d{1,6})")
_POINT = re.compile(r"(?P<busy>\d+(?:\.\d+)?):(?P<per_s>\d+(?:\.\d+)?)")


Services = Annotated[int, typer.Option("--services", min=0, help="Services that are alike.")]
Containers = Annotated[
    int, typer.Option("--containers", min=1, help="Containers of each of these.")
]
Pool = Annotated[
    int, typer.Option("--pool", min=1, help="Most connections of each container's pool.")
]
Named = Annotated[
    list[str] | None,
    typer.Option(
        "--service",
        metavar="NAME=CxP",
        help="A service with C containers and pools of P; may be repeated.",
    ),
]
Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        envvar="PLIMSOLL_DSN",
        show_default=False,
        help="Read max_connections and the load from this server. A password belongs in "
        "PLIMSOLL_DSN, PGPASSWORD or ~/.pgpass.",
    ),
]
Duration = Annotated[
    str, typer.Option("--for", metavar="TIME", help="How long --dsn watches the load.")
]
MaxConnections = Annotated[
    int | None, typer.Option("--max-connections", min=1, help="max_connections of the server.")
]
Reserved = Annotated[
    int | None,
    typer.Option("--reserved", min=0, help="Of these, reserved for superusers; 3 by default."),
]
Others = Annotated[int, typer.Option("--others", min=0, help="Connections of everybody else.")]
Vcpus = Annotated[int | None, typer.Option("--vcpus", min=1, help="Processors of the machine.")]
DbClass = Annotated[
    str | None,
    typer.Option("--class", help="Instance class, as db.r5.2xlarge: its vCPUs are looked up."),
]
Points = Annotated[
    list[str] | None,
    typer.Option(
        "--point",
        metavar="N:TPS",
        help="Transactions per second at N busy sessions, as pgbench -c N gives; repeat it.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("pool-size")(pool_size)


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
    form: Form = Format.TEXT,
    width: WideWidth = None,
    html: Html = None,
) -> None:
    """
    Check the total of all pools against max_connections and what the machine can run.

    Without a server, its size or a class: the total, and which RDS classes take it by default.

    Exit status: 0 the pools fit, or no server was named; 1 they do not fit; 2 too little is known of
    the server, or bad input.
    """
    from plimsoll.pools.pool_size import size_pools

    asked = _services(services, containers, pool, service or [])
    points = tuple(_point(text) for text in point or ())
    room = _of_server(dsn, duration, points) if dsn else _room(points)
    given = {
        "connection_max": max_connections,
        "reserved": reserved,
        "vcpu_count": vcpus or _vcpus(db_class),
    }
    room = replace(room, others=others, **{k: v for k, v in given.items() if v is not None})
    sizing = size_pools(asked, room)
    is_named = any(value is not None for value in (dsn, max_connections, vcpus, db_class, point))
    if not is_named:
        from plimsoll.catalog.load import catalog
        from plimsoll.pools.pool_size import class_notes

        notes = class_notes(sizing.connections, others, catalog())
        sizing = replace(sizing, notes=(*notes, *sizing.notes))
    show(sizing, form, width)
    if html is not None:
        write_page(sizing, html)
    if not is_named:
        raise typer.Exit(0)
    raise typer.Exit({PoolVerdict.FITS: 0, PoolVerdict.UNKNOWN: 2}.get(sizing.verdict, 1))


def _services(count: int, containers: int, pool: int, named: list[str]) -> tuple[Service, ...]:
    if count > 10_000 or len(named) > 10_000:
        raise UsageError("more than 10,000 services are given", "Give those of one server only.")
    found = [
        Service(name=f"service {n}", containers=containers, pool=pool) for n in range(1, count + 1)
    ]
    if count == 1:
        found = [replace(found[0], name="the service")]
    for text in named:
        match = _SERVICE.fullmatch(text)
        if match is None or not int(match["containers"]) or not int(match["pool"]):
            raise UsageError(
                f"service '{text}' is not NAME=CxP",
                "Write it as orders=4x20: 4 containers, pools of 20.",
            )
        found.append(
            Service(
                name=match["name"], containers=int(match["containers"]), pool=int(match["pool"])
            )
        )
    if not found:
        raise UsageError(
            "no service is given",
            "Give --services 12 --containers 4 --pool 20, or --service orders=4x20 for each.",
        )
    return tuple(found)


def _point(text: str) -> LoadPoint:
    match = _POINT.fullmatch(text)
    if match is None or not float(match["busy"]) or not float(match["per_s"]):
        raise UsageError(
            f"point '{text}' is not N:TPS",
            "Write it as 8:2100: 2,100 transactions per s at 8 sessions.",
        )
    return LoadPoint(busy=float(match["busy"]), per_s=float(match["per_s"]))


def _room(points: tuple[LoadPoint, ...]) -> ServerCapacity:
    from plimsoll.pools.concurrency import fit_curve

    curve = fit_curve(points)
    if points and curve is None:
        raise UsageError(
            "these points say nothing of a curve: fewer than three numbers of sessions, or too near",
            "Measure at 1, 2, 4, 8, 16 and 32 sessions, as pgbench -c N does.",
        )
    return ServerCapacity(curve=curve, reserved=_RESERVED)


def _vcpus(db_class: str | None) -> int | None:
    if db_class is None:
        return None
    from plimsoll.catalog.load import catalog

    return catalog().instance_limits(db_class).vcpu_count


def _of_server(dsn: str, duration: str, points: tuple[LoadPoint, ...]) -> ServerCapacity:
    """What a server takes and does now; the points of a measurement go before what was seen."""
    from plimsoll.causes.budget import budget_of
    from plimsoll.causes.connections import sessions as seen
    from plimsoll.causes.connections.work import curve_of
    from plimsoll.sources.postgres.read import Want, observe

    wants = frozenset({Want.SESSIONS})
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
    )
