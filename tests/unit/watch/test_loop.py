"""The loop on clocks of the test: what it says in an incident, and what it never says."""

import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from plimsoll.errors import AccessDenied, NothingMatches, SourceError, Throttled
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.ledger import LedgerError
from plimsoll.watch.loop import Watch
from plimsoll.watch.targets import Computations
from scenes import EPOCH_S, INCIDENT, METRIC_COUNT, Scene, full, settings_of
from watched import MINUTE


def minutes_of(scene: Scene) -> list[tuple[str, str, int]]:
    """Rule, state and minute of the data of each message that was sent."""
    return [(m.rule, m.state.value, (m.at_s - EPOCH_S) // MINUTE) for m in scene.book.got]


def played(scene: Scene, minutes: int) -> list[tuple[str, str, int]]:
    """Play from the beginning in one process; what was sent."""
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(minutes, watch, ledger)
    return minutes_of(scene)


def test_an_incident_is_two_messages(tmp_path: Path):
    """Bound after ten minutes at the ceiling, resolved after half an hour below it; with advice and the title."""
    scene = Scene(tmp_path)
    # An ordinary poll, every five minutes, sees it first; then there is one each minute.
    assert played(scene, 120) == [("bound", "bound", 30), ("bound", "ok", 91)]
    assert scene.book.got[0].advice == ("Look at it",)
    assert scene.book.got[0].title == (
        "orders is at its instance EBS throughput baseline of 100 MB/s: 100 MB/s served, since "
        "2021-03-09 00:20 UTC and still now (10 min)"
    )
    assert scene.book.got[0].facts[-1] == "These data are simulated"


def test_it_is_read_as_often_as_it_is_worth(tmp_path: Path):
    """Every five minutes while it is calm, every minute from the first sign to the end of the alert."""
    scene = Scene(tmp_path)
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(20, watch, ledger)
        assert scene.asked == 4
        scene.play(30, watch, ledger)
        assert 25 <= scene.asked - 4 <= 31
        assert ledger.spent("2021-03") == METRIC_COUNT * scene.asked


@pytest.mark.parametrize(
    "error",
    [
        SourceError("AWS answered InternalFailure", "Try again."),
        Throttled("AWS asked us to slow down"),
        AccessDenied("the security token has expired", "Log in again."),
    ],
)
def test_thirty_minutes_without_aws_resolve_nothing(tmp_path: Path, error: SourceError):
    """One message that nothing is known, one that data come again; the alert stays open and ends when it is seen to."""
    scene = Scene(tmp_path, "." * 20 + "b" * 20 + "?" * 50 + "." * 80)
    scene.error = error

    seen = played(scene, 150)

    assert seen[0] == ("bound", "bound", 30)
    assert [one[:2] for one in seen] == [("bound", "bound"), ("unknown", "unknown"), ("unknown", "ok"), ("bound", "ok")]
    assert 68 <= seen[1][2] <= 72
    assert 89 <= seen[2][2] <= 92
    assert seen[3][2] >= 89 + 30
    assert error.message in scene.book.got[1].title
    assert len(scene.events("trouble")) == 1


def test_a_short_silence_says_nothing(tmp_path: Path):
    """Twenty-five minutes without AWS, in the middle of an incident, are no message; the same episode goes on."""
    scene = Scene(tmp_path, "." * 20 + "b" * 15 + "?" * 25 + "b" * 5 + "." * 60)

    assert [one[:2] for one in played(scene, 130)] == [("bound", "bound"), ("bound", "ok")]


def test_the_spare_asks_nothing_and_takes_over(tmp_path: Path):
    """Two processes, one ledger: only one reads. When it is gone, the other one goes on where it was."""
    scene, spare = Scene(tmp_path), Scene(tmp_path)
    with scene.open("first") as one, spare.open("second") as two:
        first, second = scene.watch(one), spare.watch(two)
        for _ in range(35):
            scene.play(1, first, one)
            spare.real_s = scene.real_s
            assert not (second.round() and second.is_owner)
        assert spare.asked == 0
        assert scene.book.states == [("bound", 1)]
        # The first one is killed here: it gives nothing up, its lease runs out.
        spare.play(85, second, two)

    assert [line["owner"] for line in spare.events("lease")] == [False, True]
    assert spare.book.states == [("ok", 2)]
    assert spare.book.got[0].key == scene.book.got[0].key


def test_an_owner_that_slept_writes_nothing(tmp_path: Path):
    """A process that was stopped for longer than its lease finds another owner, and leaves the ledger alone."""
    scene, spare = Scene(tmp_path), Scene(tmp_path)
    with scene.open("first") as one, spare.open("second") as two:
        first, second = scene.watch(one), spare.watch(two)
        scene.play(10, first, one)
        spare.real_s = scene.real_s + 120
        second.round()
        asked = scene.asked
        scene.real_s += 121
        first.round()

    assert (first.is_owner, second.is_owner) == (False, True)
    assert scene.asked == asked


def test_an_old_sample_is_no_present(tmp_path: Path):
    """An instance whose newest sample is an hour old when it is first read is unknown, not calm."""
    scene = Scene(tmp_path, "")
    real = scene.read
    scene_read = lambda window, chosen: real((window[0], EPOCH_S - 3600), chosen)  # noqa: E731
    scene.read = scene_read  # type: ignore[method-assign]
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(1, watch, ledger)
        assert watch.status() == 2

    assert [m.state for m in scene.book.got] == [WatchState.UNKNOWN]


def test_the_status_is_that_of_the_worst(tmp_path: Path):
    """0 calm, 1 bound, 2 unknown or nothing read."""
    scene = Scene(tmp_path)
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        assert watch.status() == 2
        scene.play(1, watch, ledger)
        assert watch.status() == 0
        scene.play(34, watch, ledger)
        assert watch.status() == 1


def test_a_second_round_in_one_minute_is_not_unknown(tmp_path: Path):
    """There is no newer sample yet, and what is known is still fresh."""
    scene = Scene(tmp_path, "")
    for _ in range(2):
        scene.real_s += 1
        with scene.open() as ledger:
            watch = scene.watch(ledger, is_single=True)
            watch.round()
            assert watch.status() == 0


def test_a_target_that_never_answered_is_unknown(tmp_path: Path):
    """Without the name of any instance the target itself is what is not known, until it answers."""
    scene = Scene(tmp_path, "?" * 60)

    assert [one[:2] for one in played(scene, 90)] == [("unknown", "unknown"), ("unknown", "ok")]
    assert {m.instance for m in scene.book.got} == {"rds:*"}
    assert scene.asked <= 90 / 5 + 1


@pytest.mark.parametrize("letters", ["." * 60, "?" * 60])
def test_a_loop_that_cannot_store_does_not_ask_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters: str):
    """A full disk costs no request: turns every second ask as rarely as ever."""
    scene = Scene(tmp_path, letters)

    with scene.open() as ledger:
        watch = scene.watch(ledger)
        monkeypatch.setattr(ledger, "store", full)
        for _ in range(1200):
            scene.real_s += 1
            assert watch.round() >= 1.0

    assert scene.asked == 4


def test_what_is_shown_follows_the_ledger(tmp_path: Path):
    """Open alerts also after a restart; without data numbers stay fresh for 15 minutes, and no longer."""
    scene = Scene(tmp_path, "b" * 40 + "?" * 60)
    with scene.open() as ledger:
        scene.play(35, scene.watch(ledger), ledger)
        watch = scene.watch(ledger)
        scene.play(5, watch, ledger)
        assert watch.shown is not None
        (before,) = watch.shown.instances
        scene.play(30, watch, ledger)
        (after,) = watch.shown.instances
        spent = ledger.spent("2021-03")

    assert before.numbers is not None
    assert before.fresh_until_s is not None
    assert "bound" in {s.subject.rule for s in before.standings if s.state is WatchState.BOUND}
    assert (after.numbers, after.fresh_until_s) == (before.numbers, None)
    assert watch.shown.month_usd == pytest.approx(spent * 0.01 / 1000)
    assert watch.shown.waiting == {"ops": 0}


def test_a_target_that_answers_again_is_no_instance(tmp_path: Path):
    """While it does not even name its instances, the target itself is shown as stale; not afterwards."""
    scene = Scene(tmp_path, "?" * 40)
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(35, watch, ledger)
        assert watch.shown is not None
        assert [one.instance.name for one in watch.shown.instances] == ["rds:*"]
        scene.play(15, watch, ledger)
        assert [one.instance.name for one in watch.shown.instances] == ["orders"]


def test_a_budget_holds(tmp_path: Path):
    """With a few cents for the month, polls are as rare as they must be, and that is said once."""
    scene = Scene(tmp_path, INCIDENT, settings=settings_of(budget_usd_per_month=0.001))
    played(scene, 240)

    assert scene.asked <= 240 / 5 + 1
    with scene.open() as ledger:
        assert ledger.spent("2021-03") <= 2 * METRIC_COUNT
    assert [e["error"] for e in scene.events("trouble")] == [
        "the budget of this month is nearly spent, so polls are rare"
    ]


def test_a_damaged_ledger_is_said_and_not_fatal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The loop goes on and tries again."""
    scene = Scene(tmp_path)
    with scene.open() as ledger:
        watch = scene.watch(ledger)

        def damaged(_: float) -> bool:
            raise LedgerError("disk I/O error") from sqlite3.OperationalError()

        with monkeypatch.context() as patched:
            patched.setattr(ledger, "take_lease", damaged)
            assert watch.round() > 0
        scene.play(31, watch, ledger)

    assert scene.book.states == [("bound", 1)]


def test_the_alert_of_a_deleted_instance_ends_after_a_day(tmp_path: Path):
    """Its alerts end with a message that says why, and it is forgotten; failures of AWS do not count as deletion."""
    scene = Scene(tmp_path, "." * 20 + "b" * 100 + "?" * 60)
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(60, watch, ledger)
        scene.is_listed = False
        scene.play(24 * 60, watch, ledger)
        assert watch.status() == 1
        scene.play(70, watch, ledger)
        assert ledger.records() == []
        assert watch.status() == 2

    got = scene.book.got
    assert [(m.rule, m.state.value) for m in got[:2]] == [("bound", "bound"), ("unknown", "unknown")]
    assert sorted((m.rule, m.state.value) for m in got[2:]) == [("bound", "ok"), ("unknown", "ok")]
    last = next(m for m in got[2:] if m.rule == "bound")
    assert last.key == got[0].key
    assert last.title.startswith("orders has not been listed for 24 h, so this alert ends. It was")
    assert last.facts == (
        "It was deleted or renamed, or these credentials do not show it any more",
        "Whether it still reaches the limit is not known",
    )
    assert len(scene.events("forgotten")) == 1


def test_an_account_that_fails_for_days_deletes_nothing(tmp_path: Path):
    """Only an answer without the instance shows that it is gone."""
    scene = Scene(tmp_path, "." * 20 + "b" * 20 + "?" * 3000)
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(3000, watch, ledger)
        assert watch.status() == 1
        assert len(ledger.records()) == 1


def test_a_name_that_matches_nothing_any_more_is_gone_too(tmp_path: Path):
    """The only instance of a target was deleted: the account answers, with no match."""
    scene = Scene(tmp_path, "." * 20 + "b" * 20 + "?" * 3000)
    scene.error = NothingMatches("there is no instance in eu-central-1", "Check the region.")
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(40 + 25 * 60, watch, ledger)

    assert [m.state.value for m in scene.book.got if m.rule == "bound"] == ["bound", "ok"]


def test_a_target_that_is_no_longer_configured_is_forgotten(tmp_path: Path):
    """After a day of a watch without it, and not when another command is tried once with the same ledger."""
    scene = Scene(tmp_path, "." * 20 + "b" * 20)
    with scene.open() as ledger:
        scene.play(40, scene.watch(ledger), ledger)
        other = Watch(
            scene.settings,
            [],
            ledger,
            Computations(diagnose=scene.diagnose, advise=lambda *_: (), draw=lambda *_: b""),
            clock=scene.clock,
            log=scene.log,
        )
        scene.play(23 * 60, other, ledger)
        assert scene.book.states == [("bound", 1)]
        scene.play(70, other, ledger)
        assert ledger.records() == []

    assert scene.book.states == [("bound", 1), ("ok", 2)]
    assert "orders has not been watched for 24 h" in scene.book.got[1].title


def test_rounds_from_cron_notice_silence(tmp_path: Path):
    """Each process reads once, so the time since the last data is that of the wall clock."""
    scene = Scene(tmp_path, "." * 20 + "?" * 60 + "." * 20)
    for _ in range(20):
        scene.real_s += 5 * MINUTE
        with scene.open() as ledger:
            watch = scene.watch(ledger, is_single=True)
            watch.round()
            scene.send(ledger)
            ledger.release_lease()

    assert minutes_of(scene)[0][:2] == ("unknown", "unknown")
    assert 44 <= minutes_of(scene)[0][2] <= 50
    assert [one[:2] for one in minutes_of(scene)] == [("unknown", "unknown"), ("unknown", "ok")]


def test_messages_without_a_receiver_are_dropped_at_the_start(tmp_path: Path):
    """With a line in the log that names the receiver."""
    scene = Scene(tmp_path)
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        for _ in range(40):
            scene.real_s += MINUTE
            watch.round()
        assert ledger.waiting_count() == 1
        scene.settings = replace(scene.settings, receivers=())
        scene.watch(ledger).round()
        assert ledger.waiting_count() == 0

    (line,) = scene.events("messages dropped")
    assert (line["receiver"], line["count"]) == ("ops", 1)


def test_states_are_read_from_the_ledger_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A round of a thousand instances does not read a thousand states again for each of them."""
    scene = Scene(tmp_path)
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        scene.play(5, watch, ledger)
        asked: list[object] = []
        monkeypatch.setattr(ledger, "standings", asked.append)
        monkeypatch.setattr(ledger, "records", lambda: asked.append(1))
        scene.play(60, watch, ledger)

    assert asked == []
    assert scene.book.states == [("bound", 1)]


def test_the_first_reading_is_logged(tmp_path: Path):
    """A calm account says once that it is read."""
    scene = Scene(tmp_path, "")
    with scene.open() as ledger:
        scene.play(30, scene.watch(ledger), ledger)

    assert scene.events("first reading") == [
        {"event": "first reading", "instances": 1, "unread": 0, "bound": 0, "nearing": 0}
    ]
