"""A real Alertmanager while AWS, disk, clock and receiver fail and processes are killed: each notification once."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import faults
from faults import World
from fixtures.receivers.doubles import Recorder
from live.prometheus_server import wait_for
from live.test_watch_receivers import alertmanager, told
from plimsoll.watch.law.message import Message
from plimsoll.watch.receivers.alertmanager import AlertmanagerReceiver
from plimsoll_lab.servers.prometheus import Alertmanager
from scenes import RECEIVER

pytestmark = pytest.mark.live

__all__ = ["alertmanager", "told"]

Notification = tuple[str, str, str]
"""Episode, status and severity."""


class Cluster:
    """Alertmanager as the receiver of a world, which may be down as any other."""

    def __init__(self, world: World, alertmanager: Alertmanager, told: Recorder) -> None:
        self._world, self._told = world, told
        self._receiver = AlertmanagerReceiver(RECEIVER, [alertmanager.address])
        self.name, self.repeat_s = self._receiver.name, self._receiver.repeat_s
        self.repeat_resolved_s = self._receiver.repeat_resolved_s
        self.posts = 0
        self._wanted: set[Notification] = set()

    def send(self, message: Message, earlier: str) -> str:
        """Hand it on, and note what Alertmanager has to tell then."""
        if self._world.book.error is not None:
            raise self._world.book.error
        severity = self._receiver.send(message, earlier)
        self.posts += 1
        name = (message.key, message.number)
        if name not in {(m.key, m.number) for m in self._world.book.got}:
            status = "resolved" if message.is_resolved else "firing"
            self._wanted.add((message.key, status, severity))
            self._world.book.got.append(message)
        self._world.passed()
        return severity

    def wait(self) -> None:
        """Wait until it was told: the clock of the watch runs a hundred times as fast as Alertmanager's."""
        wait_for("notifications", lambda: self._wanted <= set(notified(self._told)))


def notified(told: Recorder) -> Iterator[Notification]:
    """What Alertmanager told, one for each alert."""
    for sent in list(told.sent):
        for alert in sent.json["alerts"]:
            labels = alert["labels"]
            yield labels["episode"], alert["status"], labels["severity"]


@pytest.mark.parametrize("seed", [3, 4])
def test_alertmanager_tells_each_transition_once(tmp_path: Path, alertmanager: Alertmanager, told: Recorder, seed: int):
    """Nothing is lost, and what is sent again after a kill, or every minute, is told to nobody twice."""
    clusters: list[Cluster] = []

    def cluster_of(world: World) -> Cluster:
        clusters.append(Cluster(world, alertmanager, told))
        return clusters[0]

    def on_minute() -> None:
        clusters[0].wait()

    world = faults.played(tmp_path, seed, incidents=3, receiver_of=cluster_of, on_minute=on_minute)
    counts = Counter(notified(told))

    assert world.kills > 0
    assert clusters[0].posts > len(world.book.got)
    assert set(counts.values()) == {1}
    assert set(counts) == clusters[0]._wanted
    assert len(counts) == len(world.stored())
