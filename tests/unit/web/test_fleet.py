"""The fleet: the order of rows, and what stands in one."""

from msgspec.structs import replace

import watched
from plimsoll.model.diagnosis import Verdict
from plimsoll.watch.found import BoardEntry
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.metrics import InstanceStatus
from plimsoll.watch.law.reading import CeilingNumbers, InstanceNumbers
from plimsoll.watch.ledger import Acknowledgement, RememberedInstance
from plimsoll.web.fleet import row_of, summary_of
from plimsoll.web.markup import rendered

FACTS = (("instance_class", "db.m6g.large"), ("storage_type", "gp3"), ("engine", "postgres"), ("simulated", ""))


def entry(
    name: str = "orders",
    *,
    state: WatchState = WatchState.OK,
    ratio: float = 0.5,
    empty_in_s: float | None = None,
    alert: WatchState = WatchState.OK,
) -> BoardEntry:
    """What the board has of an instance."""
    instance = WatchedInstance(account="shop", region="eu-central-1", name=name)
    ceiling = CeilingNumbers(
        ceiling="instance_ebs_throughput",
        unit="bytes/s",
        limits=(("baseline", 100e6),),
        served=ratio * 100e6,
        sustained=100e6,
        balance_ratio=0.4,
        empty_in_s=empty_in_s,
        state=state,
    )
    numbers = InstanceNumbers(
        at_s=watched.END_S, verdict=Verdict.SLACK, facts=FACTS, catalog_s=None, ceilings=(ceiling,)
    )
    subject = instance.subject("bound", "instance_ebs_throughput")
    standing = Standing(subject=subject, state=alert, since_s=watched.START_S, number=1)
    return BoardEntry(
        status=InstanceStatus(
            instance=instance,
            standings=(standing,) if alert is not WatchState.OK else (),
            numbers=numbers,
            fresh_until_s=10.0,
            interval_s=300.0,
        ),
        record=RememberedInstance(instance=instance, target="rds:*", data_end_s=watched.END_S),
        snapshot=watched.snapshot(),
        revision=1,
    )


def known(of: BoardEntry, number: int = 1) -> dict[str, Acknowledgement]:
    """Somebody knows of the alert of an entry."""
    (standing,) = of.status.standings
    found = Acknowledgement(key=standing.key, number=number, person="Ada", note="", at_s=1)
    return {standing.key: found}


def test_the_most_urgent_comes_first():
    """State, then time to empty, then headroom, then name; what somebody knows of comes after what nobody does."""
    seen = entry("seen", state=WatchState.BOUND, alert=WatchState.BOUND)
    rows = [
        row_of(entry("bound", state=WatchState.BOUND), {}, fresh=True),
        row_of(entry("gone"), {}, fresh=False),
        row_of(entry("soon", state=WatchState.NEARING, empty_in_s=3600.0), {}, fresh=True),
        row_of(entry("later", state=WatchState.NEARING, empty_in_s=9000.0), {}, fresh=True),
        row_of(entry("near", state=WatchState.NEARING, ratio=0.9), {}, fresh=True),
        row_of(seen, known(seen), fresh=True),
        row_of(entry("half"), {}, fresh=True),
        row_of(entry("calm", ratio=0.1), {}, fresh=True),
        row_of(entry("calmer", ratio=0.1), {}, fresh=True),
    ]

    assert sorted(rows, key=lambda r: r.rank) == rows
    assert summary_of(rows) == "2 bound, 1 unknown, 3 nearing, 3 ok, 1 acknowledged"


def test_the_ceiling_of_an_alert_is_shown():
    """A legacy limit is below the documented ceiling, so another ceiling can have less headroom; it is not the matter."""
    of = entry(ratio=0.3, alert=WatchState.BOUND)
    numbers = of.status.numbers
    assert numbers is not None
    other = CeilingNumbers(ceiling="volume_throughput", unit="bytes/s", served=90e6, sustained=100e6)
    both = replace(numbers, ceilings=(other, *numbers.ceilings))

    def shown(standings: tuple[Standing, ...]) -> str:
        status = replace(of.status, numbers=both, standings=standings)
        return row_of(replace(of, status=status), {}, fresh=True).ceiling

    assert shown(of.status.standings) == "instance EBS throughput"
    assert shown(()) == "volume throughput"


def test_an_acknowledgement_ends_with_the_next_change():
    """It is of one transition; the next one is news."""
    of = entry(alert=WatchState.BOUND)

    assert row_of(of, known(of), fresh=True).is_acknowledged
    assert not row_of(of, known(of, number=0), fresh=True).is_acknowledged


def test_old_numbers_are_not_shown():
    """Without new data a row is unknown, with dashes in place of numbers; an open alert stays open."""
    row = row_of(entry(alert=WatchState.NEARING), {}, fresh=False)

    assert row.state is WatchState.UNKNOWN
    assert (row.served, row.balance, row.used_ratio, row.spark.line) == ("–", "–", None, "")
    assert row.data_end == "Mar 08 03:00"


def test_a_hostile_name_is_text():
    """Markup is escaped, letters that turn others around are spelled out, and a long name is cut."""
    names = ("<script>alert(1)</script>", "a\u202egnp.exe", "\x00\x1b[2J\u2028", "x" * 10_000)
    for name in names:
        row = row_of(entry(name), {}, fresh=True)
        markup = rendered("row.html.j2", row=row)
        assert "<script" not in markup
        assert not {"\u202e", "\u2028", "\x00", "\x1b"} & set(markup)
        assert len(markup) < 4_000
    assert "a?gnp.exe" in rendered("row.html.j2", row=row_of(entry(names[1]), {}, fresh=True))


def test_a_reason_stands_in_the_place_of_the_class():
    """Why nothing was read is what people look for."""
    silent = entry()
    silent = replace(silent, record=replace(silent.record, reason="access denied"))

    assert row_of(silent, {}, fresh=False).reason == "access denied"
