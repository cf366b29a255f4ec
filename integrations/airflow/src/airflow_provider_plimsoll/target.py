"""A connection as the arguments of Plimsoll's functions. Nothing here asks Airflow or AWS."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plimsoll

_INSTANCE_TEXTS = ("identifier", "db_class", "engine", "storage", "launched")
_INSTANCE_NUMBERS = ("size_gib", "iops", "throughput_mibps")


@dataclass(frozen=True, kw_only=True)
class PlimsollTarget:
    """What to read and how. Equal ones are read once for all who wait for them."""

    target: str
    """`rds:NAME`, `prom:URL`, or a file or folder of metrics."""
    region: str | None = None
    role_arn: str | None = None
    profile: str | None = None
    token: str | None = None
    """Bearer token of a Prometheus."""
    dsn_conn_id: str | None = None
    instance: tuple[tuple[str, Any], ...] = ()
    """Fields of plimsoll.InstanceOptions."""

    @property
    def is_live(self) -> bool:
        """Return whether the target has newer metrics each minute."""
        return self.target.startswith(("rds:", "prom:"))

    def instance_options(self) -> "plimsoll.InstanceOptions":
        """Return the options that describe the instance."""
        import plimsoll

        return plimsoll.InstanceOptions(**dict(self.instance))

    def read_options(
        self, last: str | None = None, since: str | None = None, until: str | None = None
    ) -> "plimsoll.ReadOptions":
        """Return access and window."""
        import plimsoll

        return plimsoll.ReadOptions(
            last=last,
            since=since,
            until=until,
            region=self.region,
            profile=self.profile,
            role_arn=self.role_arn,
            headers=(f"Authorization:Bearer {self.token}",) if self.token else (),
        )

    def read(self, last: str | None = None, since: str | None = None, until: str | None = None) -> Any:
        """
        Return the snapshot of a window; blocks until the source has answered.

        Raises:
            plimsoll.PlimsollError: the target is not there, or does not answer.
        """
        import plimsoll

        return plimsoll.read(
            self.target, instance=self.instance_options(), options=self.read_options(last, since, until)
        )


def target_of(
    extras: Mapping[str, Any], *, token: str | None, conn_id: str, target: str | None = None
) -> PlimsollTarget:
    """
    Return the target of a connection.

    Args:
        extras: of the connection.
        token: its password.
        conn_id: for messages.
        target: in place of the connection's; None for the connection's.

    Raises:
        ValueError: there is no target, or a number is none.
    """
    named = target or _text(extras, "target")
    if named is None:
        raise ValueError(f"the connection '{conn_id}' has no target: write rds:NAME or prom:URL into its field Target")
    instance: list[tuple[str, Any]] = [
        (name, text) for name in _INSTANCE_TEXTS if (text := _text(extras, name)) is not None
    ]
    for name in _INSTANCE_NUMBERS:
        text = _text(extras, name)
        if text is None:
            continue
        try:
            instance.append((name, float(text)))
        except ValueError:
            raise ValueError(f"the connection '{conn_id}' has no number in {name}") from None
    return PlimsollTarget(
        target=named,
        region=_text(extras, "region"),
        role_arn=_text(extras, "role_arn"),
        profile=_text(extras, "profile"),
        token=token or None,
        dsn_conn_id=_text(extras, "dsn_conn_id"),
        instance=tuple(instance),
    )


def _text(extras: Mapping[str, Any], name: str) -> str | None:
    value = extras.get(name)
    return None if value is None or str(value).strip() == "" else str(value).strip()
