"""
Watch a phase of an experiment minute by minute, and return the messages that arrive in a Slack receiver.

The loop, the rules, the ledger and the receiver are those of `plimsoll watch`; only the clock is the phase's.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from plimsoll.app.watch import computations
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.watch.config import TargetSettings, WatchSettings
from plimsoll.watch.delivery import Delivery
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.law.rules.balance_empty import BalanceEmptySettings
from plimsoll.watch.ledger import Ledger
from plimsoll.watch.loop import Watch
from plimsoll.watch.receivers.settings import SlackSettings, open_receiver
from plimsoll.watch.targets import WatchClock, WatchTarget
from plimsoll_lab.experiments.inbox import MessageInbox

_MINUTE_S = 60
_VARIABLE = "EXPERIMENT_SLACK_WEBHOOK"


def slack_messages_of(snapshot: Snapshot, *, empty_minutes: int) -> tuple[str, ...]:
    """
    Return the texts that a Slack receiver gets while the minutes of a snapshot pass.

    Args:
        snapshot: with a window.
        empty_minutes: how long the credits must be used up before that is an alert, ≥ 1.

    Raises:
        SourceError: the ledger cannot be written.
    """
    assert snapshot.window_s is not None
    start_s, end_s = snapshot.window_s
    now_s = float(start_s)
    clock = WatchClock(now_s=lambda: now_s, steady_s=lambda: now_s)
    slack = SlackSettings(name="slack", webhook_url_env=_VARIABLE)
    settings = WatchSettings(
        targets=(TargetSettings(target=snapshot.instance.identifier),),
        receivers=(slack,),
        rules=RuleTables(balance_empty=BalanceEmptySettings(for_minutes=empty_minutes)),
    )
    with MessageInbox() as inbox, TemporaryDirectory(prefix="plimsoll-watch-") as folder:
        receiver = open_receiver(slack, {_VARIABLE: inbox.url})
        with Ledger(Path(folder) / "watch.db", owner="experiment") as ledger:
            watch = Watch(settings, [_target_of(snapshot)], ledger, computations(), clock=clock, log=_nothing)
            delivery = Delivery(receiver, ledger, now_s=clock.now_s, log=_nothing)
            # The last minute is complete a minute after its end.
            for moment in range(start_s, end_s + 3 * _MINUTE_S, _MINUTE_S):
                now_s = float(moment)
                watch.round()
                delivery.send_due()
        return tuple(inbox.texts)


def _target_of(snapshot: Snapshot) -> WatchTarget:
    def read(window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        if is_chosen(snapshot.instance.identifier):
            yield cut(snapshot, window_s)

    return WatchTarget(
        name=snapshot.instance.identifier, account="", is_live=True, metric_count=0, read=read, spent=lambda: 0
    )


def _nothing(event: str, **fields: object) -> None:
    del event, fields
