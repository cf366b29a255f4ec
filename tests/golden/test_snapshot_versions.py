"""Snapshots are for keeping: a file of every version is read, and no form changes without a new one."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from filled import filled
from plimsoll.errors import DataError
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.model.snapshot_file.form import SnapshotRecord
from plimsoll.model.snapshot_file.versions import CURRENT, MIGRATIONS, SCHEMA

KEPT = Path(__file__).parent / "snapshots"
VERSIONS = [*MIGRATIONS, CURRENT]


def read(version: tuple[int, int]) -> bytes:
    return (KEPT / f"{version[0]}.{version[1]}.json").read_bytes()


def today() -> dict[str, Any]:
    """A file of today's form with every field in it; a series has a start or times, never both."""
    document = filled(SnapshotRecord) | {"schema": SCHEMA}
    del document["series"][0]["time_s"], document["fine"][0]["start_s"], document["instance"]["tags"]
    document["fine"][0] |= {"step_s": 7, "time_s": [7, 15], "value": [2.5, 3.5]}
    return document


def values(document: Any, at: str = "") -> dict[str, Any]:
    """Each number, text and null with its path."""
    if isinstance(document, dict):
        every = [values(inner, f"{at}.{name}") for name, inner in document.items()]
    elif isinstance(document, list):
        every = [values(inner, f"{at}[{n}]") for n, inner in enumerate(document)]
    else:
        return {at: document}
    return {path: value for inner in every for path, value in inner.items()}


def parts(record: dict[str, Any]) -> Any:
    """The fields of a record, or the values of an enumeration."""
    return record.get("properties") or record["enum"]


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_of_an_older_file_is_lost(version):
    """Every value of a file of each version is there when the file is read and written again."""
    before = values(json.loads(read(version)))
    after = values(json.loads(encode_snapshot(decode_snapshot(read(version)))))

    assert before.pop(".schema").startswith("plimsoll.snapshot/")
    assert SCHEMA == after[".schema"]
    assert before.items() <= after.items()


def test_a_file_is_kept_for_every_version():
    """Each version that a migration begins at has a file, and no other."""
    named = {f"{major}.{minor}.json" for major, minor in VERSIONS}

    assert named == {path.name for path in KEPT.glob("*.json")}
    assert f"plimsoll.snapshot/{CURRENT[0]}.{CURRENT[1]}" == SCHEMA
    assert all(step < CURRENT for step in MIGRATIONS)


def test_todays_file_has_every_field(pytestconfig):
    """The file kept for today's version fills each field of the form, so that none can be lost unseen."""
    path = KEPT / f"{CURRENT[0]}.{CURRENT[1]}.json"
    text = json.dumps(today()) + "\n"
    if pytestconfig.getoption("--regenerate-golden"):
        path.write_text(text, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == text, "a field was added: see CONTRIBUTING.md"


def test_the_form_does_not_change_without_a_version(pytestconfig):
    """The form stands beside its version; another form with the same version fails here."""
    path = KEPT / "form.txt"
    _, records = msgspec.json.schema_components([SnapshotRecord], ref_template="{name}")
    del records["Instance"]["properties"]["tags"]
    lines = [f"{name} {json.dumps(parts(record))}" for name, record in sorted(records.items())]
    form = "\n".join([SCHEMA, *lines]) + "\n"
    kept = path.read_text(encoding="utf-8")
    if pytestconfig.getoption("--regenerate-golden") and kept.split("\n")[0] != SCHEMA:
        path.write_text(form, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == form, "raise the version first: see CONTRIBUTING.md"


@pytest.mark.parametrize("inside", ["", "instance", "instance.storage", "observation", "observation.server"])
@pytest.mark.parametrize(("field", "value"), [("colour", "blue"), ("tags", [["team", "search"]])])
def test_a_field_that_the_form_does_not_have_is_named(inside, field, value):
    """A field that would be lost is an error that names it, wherever it stands; tags are never kept."""
    document = today()
    place = document
    for name in filter(None, inside.split(".")):
        place = place[name]
    place[field] = value

    with pytest.raises(DataError, match=field):
        decode_snapshot(json.dumps(document).encode())


@pytest.mark.parametrize("expected", ["plimsoll.snapshot/1.999", "plimsoll.snapshot/2"])
def test_a_newer_form_is_refused_with_what_to_do(expected):
    """What a newer Plimsoll wrote is not guessed at; the sentence says that an upgrade reads it."""
    with pytest.raises(DataError) as refused:
        decode_snapshot(json.dumps(today() | {"schema": expected}).encode())

    assert "this Plimsoll reads forms up to" in refused.value.message
    assert "pip install --upgrade plimsoll-db" in refused.value.hint
