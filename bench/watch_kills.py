"""
Kill a watch at random points, and count what receivers got: `python bench/watch_kills.py --rounds 1000`.

Every round is a process that watches a simulated incident from where the last one was killed. It kills itself with
SIGKILL at a random point between evaluating, storing, sending and marking. Afterwards one process plays to the end.
Each message must have come, with the key and number that it has without any kill, at most once more for each kill.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from plimsoll.watch.judge import Judge  # noqa: E402
from plimsoll.watch.law.message import Message  # noqa: E402
from plimsoll.watch.law.rulebook import RuleTables  # noqa: E402
from plimsoll.watch.law.rules.bound import BoundSettings  # noqa: E402
from plimsoll.watch.ledger import Ledger  # noqa: E402
from scenes import EPOCH_S, Scene, settings_of  # noqa: E402
from watched import MINUTE  # noqa: E402

# The points at which a round may end: before and after each of these.
POINTS: tuple[tuple[Any, str], ...] = ((Judge, "of_data"), (Ledger, "store"), (Ledger, "claim"), (Ledger, "mark_sent"))
# Twelve short incidents, and rules that are quick: a message every few minutes.
INCIDENTS = ("." * 5 + "b" * 5) * 12
QUICK = RuleTables(bound=BoundSettings(for_minutes=2, clear_minutes=2))
# Calls of these until the kill: a round passes some minutes of the incident, or none.
_CALLS_MAX = 12


def kill_at(count: int) -> Callable[[], None]:
    """Return a function that kills the process at its call of this number, from 1."""
    left = [count]

    def passed() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return passed


def armed(function: Callable[..., Any], passed: Callable[[], None]) -> Callable[..., Any]:
    """Return a function that passes a point before it does its work, and one after."""

    def run(*arguments: Any, **named: Any) -> Any:
        passed()
        found = function(*arguments, **named)
        passed()
        return found

    return run


def play(folder: Path, book: Path, from_minute: int, owner: str) -> None:
    """
    Watch the incident from a minute to its end, and write each message that is sent to a file.
    """
    scene = Scene(folder, INCIDENTS, settings=settings_of(rules=QUICK))

    def write(message: Message) -> None:
        line = json.dumps([message.key, message.number]) + "\n"
        descriptor = os.open(book, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    scene.book.write = write
    scene.real_s = EPOCH_S + from_minute * MINUTE
    with scene.open(owner) as ledger:
        watch = scene.watch(ledger)
        for _ in range(from_minute, len(INCIDENTS) + 10):
            (folder / "minute").write_text(str(round((scene.real_s - EPOCH_S) / MINUTE)))
            scene.play(1, watch, ledger)


def killed_round(folder: Path, book: Path, rng: random.Random, owner: str) -> bool:
    """
    Play in a process of its own until it is killed; return whether it was, before the incident was over.
    """
    count = rng.randint(1, _CALLS_MAX)
    minute = minute_of(folder)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            passed = kill_at(count)
            for owner_class, name in POINTS:
                setattr(owner_class, name, armed(getattr(owner_class, name), passed))
            play(folder, book, minute, owner)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def minute_of(folder: Path) -> int:
    """The minute that the last process had begun."""
    place = folder / "minute"
    return int(place.read_text()) if place.exists() else 0


def counted(book: Path) -> Counter[tuple[str, int]]:
    """How often each message came."""
    lines = book.read_text().splitlines() if book.exists() else []
    return Counter((key, number) for key, number in map(json.loads, lines))


def incident(rng: random.Random | None) -> tuple[Counter[tuple[str, int]], int]:
    """
    Play one incident, with kills if there are dice; return what came, and the number of kills.
    """
    kills = 0
    with tempfile.TemporaryDirectory(prefix="plimsoll-kills-") as place:
        folder, book = Path(place), Path(place) / "book"
        # One owner for all: a lease is taken over at once, as by a process that is started again in a minute.
        while rng is not None and killed_round(folder, book, rng, "me"):
            kills += 1
        play(folder, book, minute_of(folder), "me")
        return counted(book), kills


def main() -> int:
    """Kill as often as was asked for, and print what came."""
    parser = argparse.ArgumentParser(description="Kill a watch at random points.")
    parser.add_argument("--rounds", type=int, default=1000, help="kills")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    wanted, _ = incident(None)
    kills = incidents = lost = foreign = repeated = 0
    while kills < asked.rounds:
        came, killed = incident(rng)
        kills, incidents = kills + killed, incidents + 1
        lost += len(wanted.keys() - came.keys())
        foreign += len(came.keys() - wanted.keys())
        repeated += came.total() - len(came)
    print(
        f"{kills} kills in {incidents} incidents of {len(wanted)} messages: {lost} lost, {foreign} with another "
        f"key or number, {repeated} sent again (at most {kills} allowed)"
    )
    return 0 if lost == 0 and foreign == 0 and repeated <= kills else 1


if __name__ == "__main__":
    sys.exit(main())
