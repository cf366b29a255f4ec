"""Run `plimsoll gate status`, `set` and `events`: query and change a running gate."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll_lab.cli.gate import words as gate_words
from plimsoll_lab.gate.config import has_credits
from plimsoll_lab.gate.control import CHANGES, RECORD, GateControl, Home, find_gate, is_alive
from plimsoll_lab.gate.record import MINUTE_S, GateChange, moment_of, read_line

# A judgement: people do not notice a delay of a tenth of a second.
_GLANCE_S = 0.1


class Orders(Struct, frozen=True, kw_only=True):
    """Changes to a gate."""

    instance: InstanceOptions
    balances: tuple[str, ...]
    """Credits to set, `NAME=RATIO`."""
    grant: bool
    drain: bool
    restart: bool


def show_status(socket: Path | None, *, is_json: bool) -> None:
    """
    Print the state of a gate.

    Raises:
        SourceError: no gate answers.
        UsageError: several run, and none was chosen.
    """
    control = find_gate(socket)
    status, home = control.status(), control.home
    if is_json:
        from plimsoll_lab.reports.gate.json import render_gate_status

        text = render_gate_status(
            status,
            emulated=gate_words.emulated(home.setup),
            mount=home.mount,
            clock=status.clock,
            emulated_minute_s=MINUTE_S / status.clock,
        )
        sys.stdout.buffer.write(text.encode())
    else:
        sys.stdout.write(gate_words.status_text(status, home.setup, home.mount))
    sys.stdout.flush()


def give_orders(socket: Path | None, orders: Orders) -> None:
    """
    Change a running gate, class and storage first, then credits; then print its state.

    Raises:
        UsageError: nothing to change, or changes that contradict each other.
        CatalogError: an unknown class.
        SourceError: no gate answers.
    """
    flags = orders.instance
    is_other = flags != InstanceOptions()
    if orders.grant and orders.drain:
        raise UsageError("--grant and --drain contradict each other", "Leave one of them out.")
    if not (is_other or orders.balances or orders.grant or orders.drain or orders.restart):
        raise UsageError("no change was given", "Give --class, --storage, --balance, --grant or --drain.")
    wanted = [_balance(text) for text in orders.balances]
    control = find_gate(socket)
    if is_other or orders.restart:
        _change(control, flags, is_restart=orders.restart)
    if orders.grant or orders.drain:
        ratio = 1.0 if orders.grant else 0.0
        wanted = [(s.name, ratio) for s in control.status().chain if has_credits(s)] + wanted
    for name, ratio in wanted:
        control.set_balance(name, ratio)
    show_status(control.folder, is_json=False)


def follow(socket: Path | None, *, from_start: bool) -> None:
    """
    Print each change and the recorded rates of each second as lines of JSON, until the gate ends.

    Raises:
        SourceError: no gate answers.
        UsageError: several run, and none was chosen.
    """
    control = find_gate(socket)
    clock = control.home.setup.clock
    record = _Tail(control.folder / RECORD, from_start=from_start)
    changes = _Tail(control.folder / CHANGES, from_start=from_start)
    is_running = True
    while is_running:
        is_running = is_alive(control)
        found: list[tuple[float, dict[str, Any]]] = []
        for line in changes.lines():
            change = msgspec.json.decode(line, type=GateChange)
            event = {"change": change.kind.value, "text": change.text}
            found.append((change.t, {"time_s": change.t, **event, "credit_clock": clock}))
        for line in record.lines():
            moment = moment_of(read_line(line))
            found.append((moment.time_s, {**asdict(moment), "credit_clock": clock}))
        for _, document in sorted(found, key=lambda item: item[0]):
            sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
        sys.stdout.flush()
        if is_running:
            time.sleep(_GLANCE_S)


class _Tail:
    """Reads lines that are added to a file, whole lines only."""

    def __init__(self, path: Path, *, from_start: bool) -> None:
        self._path = path
        self._read = 0 if from_start or not path.exists() else path.stat().st_size

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that were added since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                text = file.read()
        except FileNotFoundError:
            return
        whole, end, _ = text.rpartition(b"\n")
        self._read += len(whole) + len(end)
        yield from (line for line in whole.split(b"\n") if line)


def _change(control: GateControl, flags: InstanceOptions, *, is_restart: bool) -> None:
    from plimsoll.catalog.load import catalog
    from plimsoll.limits.purchase import check_purchase

    facts = catalog()
    home = control.home
    if home.setup.stages is not None and flags == InstanceOptions():
        raise UsageError(
            "limits from a file have no legacy limits, so a restart changes nothing", "Leave --restart out."
        )
    instance = _bought(home, flags)
    if instance.db_class is not None:
        instance = replace(instance, db_class=facts.instance_limits(instance.db_class).db_class)
    check_purchase(instance, facts)
    control.change(instance, facts, is_restart=is_restart)


def _bought(home: Home, flags: InstanceOptions) -> Instance:
    """Return the instance from now on: the current one, with the flags applied."""
    instance = home.setup.instance
    is_other_kind = flags.storage is not None and flags.storage.lower() != instance.storage.kind
    if is_other_kind:
        # IOPS and throughput were provisioned for the storage that is replaced.
        instance = replace(instance, storage=Storage(size_gib=instance.storage.size_gib))
    if flags.storage is not None and flags.engine is None and instance.engine is None:
        from plimsoll_lab.cli.gate.run import DEFAULT_ENGINE

        flags = replace(flags, engine=DEFAULT_ENGINE)
    return with_flags(instance, flags)


def _balance(text: str) -> tuple[str, float]:
    name, separator, number = text.partition("=")
    try:
        ratio = float(number)
    except ValueError:
        ratio = -1.0
    if not separator or not 0 <= ratio <= 1:
        raise UsageError(
            f"--balance '{text}' is not NAME=RATIO with a ratio from 0 to 1",
            "Write it as byte=0.0, io=0.5 or volume=1.0.",
        )
    return gate_words.BALANCE_NAMES.get(name.strip().lower(), name.strip()), ratio
