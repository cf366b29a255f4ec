"""Secrets are read from one of two places, and nothing prints them."""

from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.watch.receivers.secret import Secret, is_in, read_secret

WHAT = "receiver 'team': token"


def test_a_secret_has_no_text_of_its_own():
    secret = Secret("planted")

    assert "Secret(…)" == repr(secret) == str(secret) == f"{secret}"
    assert "planted" == secret.reveal()


def test_a_secret_comes_from_a_file_or_a_variable(tmp_path: Path):
    """White space around it is left out."""
    (tmp_path / "token").write_text(" planted\r\n")

    assert "planted" == read_secret(WHAT, str(tmp_path / "token"), "", {}).reveal()
    assert "planted" == read_secret(WHAT, "", "TOKEN", {"TOKEN": "planted\n"}).reveal()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\n", "contains nothing"),
        (b"a\nb", "does not contain one line of text"),
        (b"\xff\xfe", "is not text in UTF-8"),
        (b"x" * 70_000, "has more than 65,536 bytes"),
    ],
)
def test_what_is_no_secret_is_refused(tmp_path: Path, content: bytes, complaint: str):
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(UsageError, match=complaint):
        read_secret(WHAT, str(tmp_path / "token"), "", {})


def test_exactly_one_place_is_named():
    for file, variable in (("", ""), ("a", "B")):
        with pytest.raises(UsageError) as found:
            read_secret(WHAT, file, variable, {})

        assert f"{WHAT}_file and token_env: exactly one of them is needed" == found.value.message


def test_a_path_that_no_system_has_is_refused():
    with pytest.raises(UsageError, match="unable to read"):
        read_secret(WHAT, "a\0b", "", {})


def test_a_secret_is_found_in_its_forms():
    """Short texts occur by chance and are not looked for."""
    assert is_in([Secret("pla/nted")], "x pla%2Fnted y")
    assert is_in([Secret("planted")], "cGxhbnRlZA")
    assert not is_in([Secret("abc")], "abc")
