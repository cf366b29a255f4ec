"""Log lines."""

import io
import json

import pytest

from plimsoll.cli.watch.log_lines import logfmt, logger


def test_values_are_quoted_where_they_need_it():
    """Spaces, quotes, equal signs and line ends; a title cannot become a second field or a second line."""
    assert logfmt({"a": "plain", "b": True, "c": 1.5}) == "a=plain b=true c=1.5"
    assert logfmt({"title": 'is at "100" x=y\nerror=none'}) == (r'title="is at \"100\" x=y\nerror=none"')


@pytest.mark.parametrize("form", ["logfmt", "json"])
def test_a_line_has_time_and_event(form: str, capsys: pytest.CaptureFixture[str]):
    """Fields without a value are left out."""
    logger(form, lambda: 0.0)("sent", receiver="ops", hint="", key=None)

    line = capsys.readouterr().err
    expected = {"time": "1970-01-01T00:00:00Z", "event": "sent", "receiver": "ops"}
    assert line == (
        json.dumps(expected) + "\n" if form == "json" else "time=1970-01-01T00:00:00Z event=sent receiver=ops\n"
    )


def test_a_log_that_cannot_be_written_stops_nothing(monkeypatch: pytest.MonkeyPatch):
    """Its disk is full, or whoever read it is gone."""

    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(28, "No space left on device")

    for stream in (Full(), None):
        monkeypatch.setattr("sys.stderr", stream)
        logger("logfmt", lambda: 0.0)("sent", receiver="ops")
