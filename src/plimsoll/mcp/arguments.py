"""
The arguments of each tool. The classes make the schemas that assistants get, and check what they send.

Names are those of the options of the command line, with `_` for `-`, so that a hint such as
`--size-gib` names an argument too.
"""

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.errors import UsageError

_RENAMED = {"db_class": "class", "since": "from", "until": "to"}

# A name of RDS has at most 63 characters, an ARN or a path more; nothing that is meant has more than this.
_Path = Annotated[str, Meta(min_length=1, max_length=500)]
_Text = Annotated[str, Meta(min_length=1, max_length=100)]
_Target = Annotated[
    _Path,
    Meta(
        description="A recorded snapshot, or a file or folder of exported metrics, as a path below the "
        "root folder; or rds:NAME or prom:URL, if the server was started with --live for it."
    ),
]
_Identifier = Annotated[
    _Path, Meta(description="Which instance, if the target has several; for example orders-primary.")
]
_InstanceFile = Annotated[
    _Path, Meta(description="File below the root folder with an answer of 'aws rds describe-db-instances'.")
]
_Class = Annotated[_Text, Meta(description="Instance class, for example db.r5.2xlarge.")]
_Engine = Annotated[_Text, Meta(description="Engine as RDS names it, for example postgres.")]
_Storage = Annotated[_Text, Meta(description="Storage type: gp2, gp3, io1, io2 or standard.")]
_SizeGib = Annotated[float, Meta(gt=0, lt=1e9, description="Allocated storage in GiB.")]
_Iops = Annotated[float, Meta(gt=0, lt=1e9, description="Provisioned IOPS.")]
_Throughput = Annotated[float, Meta(gt=0, lt=1e9, description="Provisioned throughput in MiB/s.")]
_Launched = Annotated[_Text, Meta(description="Date of launch, for example 2019-06-01.")]
_Last = Annotated[_Text, Meta(description="How far back, for example 24h or 14d. A file is read whole by default.")]
_From = Annotated[_Text, Meta(description="Start of the window, for example 2026-11-20T10:00Z.")]
_To = Annotated[_Text, Meta(description="End of the window, exclusive (default: now).")]
_Patterns = Annotated[tuple[_Text, ...], Meta(max_length=50)]

_Arguments = TypeVar("_Arguments", bound=Struct)


class _Windowed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_RENAMED):
    """A window of time."""

    last: _Last | None = None
    since: _From | None = None
    until: _To | None = None

    @property
    def read_options(self) -> ReadOptions:
        """Return the window in the form that reads a target."""
        return ReadOptions(last=self.last, since=self.since, until=self.until)


class DiagnoseArguments(_Windowed, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_RENAMED):
    """A target, and what is known about its instance."""

    target: _Target
    identifier: _Identifier | None = None
    instance: _InstanceFile | None = None
    db_class: _Class | None = None
    engine: _Engine | None = None
    storage: _Storage | None = None
    size_gib: _SizeGib | None = None
    iops: _Iops | None = None
    throughput_mibps: _Throughput | None = None
    launched: _Launched | None = None

    @property
    def flags(self) -> InstanceOptions:
        """Return what is known about the instance, without the file that describes it."""
        return _described(self, identifier=self.identifier)


class PlanArguments(DiagnoseArguments, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_RENAMED):
    """A target, and limits of a change."""

    region: Annotated[_Text, Meta(description="Region of a target from a file, for its prices: us-east-1.")] | None = (
        None
    )
    slo: Annotated[
        float, Meta(ge=0, le=0.5, description="Share of minutes that may be spent at a ceiling, 0 to 0.5.")
    ] = 0.01
    max_usd_per_day: (
        Annotated[float, Meta(gt=0, lt=1e9, description="Highest price of a setup for a day of 24 hours.")] | None
    ) = None
    growth: Annotated[
        float, Meta(gt=0, le=100, description="Factor by which demand is multiplied, for example 1.5.")
    ] = 1.0
    keep_class: Annotated[bool, Meta(description="Change only the storage.")] = False
    keep_storage: Annotated[bool, Meta(description="Change only the class.")] = False
    multi_az: Annotated[bool, Meta(description="With or without a standby (default: as now).")] | None = None
    allow: Annotated[
        _Patterns,
        Meta(
            description="Allow only classes or storage types that match, for example db.r6g.* or gp3; or "
            "lift a restriction: smaller-cpu, smaller-memory, smaller-connections, smaller-network, "
            "short-window."
        ),
    ] = ()
    deny: Annotated[
        _Patterns, Meta(description="Exclude classes or storage types that match, for example db.t*; or graviton.")
    ] = ()


class InspectArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A database that is watched now, or one that was recorded."""

    target: (
        Annotated[
            _Path,
            Meta(
                description="As for diagnose. What was recorded of its database is inspected; with 'seconds' it "
                "only names the ceiling that shares refer to."
            ),
        ]
        | None
    ) = None
    seconds: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=3600,
                description="Watch the database of the server's --dsn for so many seconds, for example 20.",
            ),
        ]
        | None
    ) = None


class LimitsArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_RENAMED):
    """An instance that may exist or not."""

    db_class: _Class
    engine: _Engine | None = None
    storage: _Storage | None = None
    size_gib: _SizeGib | None = None
    iops: _Iops | None = None
    throughput_mibps: _Throughput | None = None
    launched: _Launched | None = None
    volumes: (
        Annotated[int, Meta(ge=1, le=64, description="Number of volumes (default: as RDS documents it).")] | None
    ) = None
    multi_az: Annotated[bool, Meta(description="The instance has a standby.")] = False

    @property
    def flags(self) -> InstanceOptions:
        """Return what is known about the instance."""
        return _described(self)


class CompareArguments(_Windowed, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_RENAMED):
    """Two targets, or one with a time at which it is split."""

    before: _Target
    after: _Target | None = None
    at: Annotated[_Text, Meta(description="Split one target at this time, for example 2026-11-20T10:00Z.")] | None = (
        None
    )
    window_a: Annotated[_Text, Meta(description="Window before, of one target: 2026-11-01/2026-11-08.")] | None = None
    window_b: Annotated[_Text, Meta(description="Window after: 2026-11-10/P7D.")] | None = None
    identifier: _Identifier | None = None
    engine: _Engine | None = None


def _described(given: DiagnoseArguments | LimitsArguments, *, identifier: str | None = None) -> InstanceOptions:
    return InstanceOptions(
        identifier=identifier,
        db_class=given.db_class,
        engine=given.engine,
        storage=given.storage,
        size_gib=given.size_gib,
        iops=given.iops,
        throughput_mibps=given.throughput_mibps,
        launched=given.launched,
    )


def input_schema(arguments: type[Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, an object at its root."""
    _, found = msgspec.json.schema_components((arguments,))
    schema: dict[str, Any] = found[arguments.__name__]
    properties = {name: _plain(one) for name, one in schema["properties"].items()}
    kept = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    return {**kept, "properties": properties}


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field without `null`, which is accepted but tells an assistant nothing."""
    choices = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    found = {**field, **choices[0]} if len(choices) == 1 else field
    return {
        key: value
        for key, value in found.items()
        if key not in {"anyOf", "minLength"} and not (key == "default" and not value)
    }


def checked(arguments: dict[str, Any], kind: type[_Arguments]) -> _Arguments:
    """
    Return a tool's arguments.

    Args:
        arguments: as the assistant sent them.
        kind: class of the tool's arguments.

    Raises:
        UsageError: one is missing, unknown, too long, or of another type.
    """
    try:
        return msgspec.convert(arguments, type=kind)
    except msgspec.ValidationError as error:
        text = str(error).replace("`", "'").replace("$.", "")
        names = ", ".join(input_schema(kind)["properties"])
        raise UsageError(
            f"the arguments are not valid: {text[:1].lower()}{text[1:]}", f"The arguments of this tool are {names}."
        ) from error
