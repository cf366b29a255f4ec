"""Windows as people write them."""

import pytest

import builders
from plimsoll.app.moments import seconds_of, today, window_of
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.read import read_target
from plimsoll.errors import DataError
from plimsoll.model.snapshot_file.codec import encode_snapshot

NOW_S = 1_763_640_000


@pytest.mark.parametrize(
    ("last", "since", "until", "window"),
    [
        ("1h", None, None, (NOW_S - 3600, NOW_S)),
        (None, None, None, (NOW_S - 86_400, NOW_S)),
        ("2w", None, None, (NOW_S - 14 * 86_400, NOW_S)),
        ("1h", None, "2025-11-01", (1_761_951_600, 1_761_955_200)),
        (None, "2025-11-01", None, (1_761_955_200, NOW_S)),
        (None, "2025-11-01T00:00Z", "2025-11-01T02:00+01:00", (1_761_955_200, 1_761_958_800)),
        (None, "2025-11-01T00:00:00", "2025-11-01T01:00:00", (1_761_955_200, 1_761_958_800)),
    ],
)
def test_a_window_is_counted_back_from_its_end(last, since, until, window):
    """Without anything it is the last day; a length ends now or at --to."""
    assert window == window_of(last, since, until, now_s=NOW_S, default="24h")


def test_without_a_default_there_is_no_window():
    assert window_of(None, None, None, now_s=NOW_S, default=None) is None
    assert (0, 1_761_955_200) == window_of(None, None, "2025-11-01", now_s=NOW_S, default=None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86_400), ("1h30m", 5400), ("1w2d", 9 * 86_400)],
)
def test_times_are_written_as_people_write_them(text, seconds):
    """A number and a unit, or several; a bare number is seconds."""
    assert seconds == seconds_of(text, "--for")


def test_the_last_hours_of_a_file_are_the_last_of_what_it_holds(tmp_path):
    """An export is old; counting back from now would find nothing."""
    file = tmp_path / "orders.json"
    file.write_bytes(encode_snapshot(builders.snapshot(builders.storage([1e6] * 240))))
    end = builders.START_S + 240 * 60

    cut = read_target(str(file), InstanceOptions(), ReadOptions(last="1h"))
    assert (end - 3600, end) == cut.window_s
    with pytest.raises(DataError, match="no sample in that window"):
        read_target(str(file), InstanceOptions(), ReadOptions(since="2030-01-01", until="2030-01-02"))


def test_the_date_of_the_build_goes_before_the_clock(monkeypatch: pytest.MonkeyPatch):
    """With SOURCE_DATE_EPOCH the same command prints the same on every day; without, it is the clock's."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")
    assert "2026-11-22" == today()

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    monkeypatch.setattr("plimsoll.app.moments.time.time", lambda: 0.0)
    assert "1970-01-01" == today()
