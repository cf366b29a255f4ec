"""The published incident of the claims pipeline (simulated), watched from its first hour to its end."""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from unittest import mock

from msgspec.structs import replace

from fixtures.aws import simulated
from plimsoll.app.watch import computations
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.watch.config import TargetSettings, WatchSettings
from plimsoll.watch.delivery import Delivery
from plimsoll.watch.law.message import Message
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.law.rules.time_to_empty import TimeToEmptySettings
from plimsoll.watch.ledger import Ledger
from plimsoll.watch.loop import Watch
from plimsoll.watch.receivers.receiver import Receiver
from plimsoll.watch.receivers.settings import WebhookSettings
from plimsoll.watch.targets import Computations, WatchClock, WatchTarget

NAME = "claims-pipeline"
MINUTE = 60
EXAMPLE = simulated.example(NAME)
WINDOW = EXAMPLE.window_s or (0, 0)


def at(clock: str) -> int:
    """Epoch seconds of a time of the incident: `14 02:05`."""
    return int(datetime.strptime(f"2023-02-{clock}+0000", "%Y-%m-%d %H:%M%z").timestamp())


# A turn every five minutes while something happens, every half an hour while the baseline binds for hours.
TURNS = (
    *range(at("14 00:50"), at("14 03:30"), 5 * MINUTE),
    *range(at("14 03:30"), at("14 14:00"), 30 * MINUTE),
    *range(at("14 14:00"), at("14 15:30"), 5 * MINUTE),
)
"""Moments at which the loop turns; the last complete minute ended a minute before."""


def settings_of(ledger: Path, url: str) -> WatchSettings:
    """All rules but the one that says what the others say a little later."""
    return WatchSettings(
        targets=(TargetSettings(target=f"rds:{NAME}"),),
        receivers=(WebhookSettings(name="ops", url=url),),
        ledger=str(ledger),
        rules=RuleTables(time_to_empty=TimeToEmptySettings(is_on=False)),
    )


def from_example() -> WatchTarget:
    """The incident read from the example, as far as it has happened."""

    def read(window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        if is_chosen(NAME):
            yield cut(EXAMPLE, window_s)

    return WatchTarget(name=f"rds:{NAME}", account="", is_live=True, metric_count=14, read=read, spent=lambda: 0)


def watched(
    target: WatchTarget,
    settings: WatchSettings,
    *receivers: Receiver,
    shift_s: int = 0,
    until_s: int = TURNS[-1],
    computed: Computations | None = None,
    on_turn: Callable[[], None] = lambda: None,
) -> list[dict[str, object]]:
    """
    Play the incident up to a moment, moved by some seconds, and return the lines of the log.

    After each turn of the loop, what is due is sent to every receiver, and `on_turn` is called.
    """
    lines: list[dict[str, object]] = []
    now = [float(TURNS[0] + shift_s)]
    clock = WatchClock(now_s=lambda: now[0], steady_s=lambda: now[0])

    def log(event: str, **fields: object) -> None:
        lines.append({"event": event, **fields})

    with Ledger(Path(settings.ledger), owner="me", lease_s=3600.0) as ledger:
        watch = Watch(
            settings,
            [target],
            ledger,
            computed or replace(computations(), draw=lambda _diagnosis, _snapshot: b""),
            clock=clock,
            log=log,
            usd_per_metric=0.00001,
        )
        for moment in (turn for turn in TURNS if turn <= until_s):
            now[0] = float(moment + shift_s)
            watch.round()
            for receiver in receivers:
                Delivery(receiver, ledger, now_s=clock.now_s, log=log).send_due()
            on_turn()
    return lines


def shown(messages: list[Message]) -> str:
    """Messages as a page of text, to be reviewed."""
    blocks = []
    for one in messages:
        lines = [f"{one.state.value} · {one.severity} · {one.rule} · number {one.number}", one.title]
        lines += [f"  {fact}" for fact in one.facts]
        lines += [f"  → {step}" for step in one.advice]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def only_these_variables(environment: Mapping[str, str]) -> mock._patch_dict:
    """Run with these variables and no others."""
    return mock.patch.dict(os.environ, environment, clear=True)
