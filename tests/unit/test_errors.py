"""What can be wrong with what we were given."""

import inspect

import pytest

from plimsoll import errors
from plimsoll.errors import AccessDenied, ExtraMissing, PlimsollError, SourceError, Throttled, Unreachable

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PlimsollError)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_a_cause_and_a_hint(kind):
    """Every kind carries the cause, which is also its text, and a hint that may be empty."""
    found = kind("unable to read 'a.json'", "Check the path.")

    assert "unable to read 'a.json'" == str(found) == found.message
    assert "Check the path." == found.hint
    assert "" == kind("no reason").hint


@pytest.mark.parametrize("kind", [AccessDenied, Unreachable, Throttled])
def test_what_a_source_can_meet_is_a_source_error(kind):
    """Refused, silent or overloaded: each is a way a source could not be read."""
    assert issubclass(kind, SourceError)


def test_our_own_mistakes_are_not_among_them():
    """An assertion is never taken for something the user can mend."""
    assert not issubclass(AssertionError, PlimsollError)
    assert {AccessDenied, ExtraMissing, SourceError, Throttled, Unreachable} < set(KINDS)


def test_a_missing_extra_is_named_with_the_command_that_installs_it():
    """What needs the extra, the command, and what helps otherwise: one sentence each."""
    found = ExtraMissing.naming("a picture", "pictures", "Or write text.")

    assert "a picture needs the extra 'pictures', which is not installed" == found.message
    assert "Install it with: pip install 'plimsoll-db[pictures]'. Or write text." == found.hint


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("/x/plimsoll/units.py", " in units.py, line 1"),
        ("/plimsoll/lab/src/plimsoll_lab/gate/gate.py", " in gate/gate.py, line 1"),
        ("/x/plimsoll/model/contained.py", ""),
        ("/x/json/decoder.py", ""),
    ],
)
def test_the_place_of_an_internal_error_is_in_our_packages(file, place):
    with pytest.raises(ZeroDivisionError) as raised:
        exec(compile("1 / 0", file, "exec"), {})

    assert place == errors.place_of(raised.value)
