"""Play failovers under load, and report what was lost."""

import time
from collections.abc import Callable

from plimsoll.units import format_duration
from plimsoll_lab.experiments.failover.play import FailoverPlan, play, report_of
from plimsoll_lab.judges.judge import machine_of
from plimsoll_lab.model.failover import FailoverReport, FailoverRound, Fault, Synchronous

_STRICT = "Strict synchronous replication: a write waits until a standby has it. Patroni promotes only a standby that has all."
_ASYNCHRONOUS = (
    "Asynchronous replication: what the killed server had not sent yet is lost, although it was acknowledged."
)
_ONE_MACHINE = (
    "All servers share this machine, so standbys are closer to the leader than in a real network, and less is lost."
)
_CLOSED = "All processes of a killed node end at once, and the kernel closes their connections, so clients see it at once. A machine without power stays silent, and they would wait for their own time limits."
_TTL = "Patroni's ttl is 10 s here; its default is 30 s, with which nobody takes over for up to that long."


def play_failovers(plan: FailoverPlan, print_line: Callable[[str], None]) -> FailoverReport:
    """
    Play all faults of a plan, and return the report.

    Args:
        plan: what is played.
        print_line: called with a sentence before each step, and after each round.

    Raises:
        UsageError: a program of the servers is missing.
        SourceError: a server did not start, or none takes writes in the end.
    """
    count = len(plan.faults)
    begin_s = time.monotonic()

    def say(place: int, one: FailoverRound) -> None:
        left_s = (time.monotonic() - begin_s) / place * (count - place)
        is_over = place == count or one.problem is not None
        left = "" if is_over else f"; about {format_duration(left_s)} left"
        print_line(f"{place} of {count}: {words_of(one)}{left}")

    played = play(plan, print_line, say)
    is_strict = plan.synchronous is Synchronous.STRICT
    notes = [_STRICT if is_strict else _ASYNCHRONOUS, _ONE_MACHINE, _CLOSED, _TTL]
    if len(played.rounds) < count:
        notes.append(f"{count - len(played.rounds)} faults of {count} were not played.")
    return report_of(plan, played, machine_of(played.servers), tuple(notes))


def words_of(one: FailoverRound) -> str:
    """Return what happened in a round, in a line."""
    took = f"{one.to_node} took over" if one.to_node else "nobody took over"
    text = f"{one.from_node} {_DONE[one.fault]}, {took}; no write for {one.no_write_s:.1f} s"
    if one.healed_s is None:
        return f"{text}; NOT HEALED: {one.problem}"
    return (
        f"{text}, healed {one.healed_s:.1f} s later; {one.writes.acknowledged:,} writes acknowledged, "
        f"{one.writes.unknown:,} with an unknown outcome"
    )


_DONE = {Fault.KILL: "was killed", Fault.PARTITION: "was cut off from etcd", Fault.SWITCHOVER: "handed over"}
