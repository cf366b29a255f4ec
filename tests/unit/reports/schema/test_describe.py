"""What a Struct says of its document, as JSON Schema."""

from enum import StrEnum
from typing import Annotated, Literal

import jsonschema
import pytest
from msgspec import Meta, Struct

from plimsoll.reports.schema.describe import schema_of


class Colour(StrEnum):
    """Not in alphabetical order."""

    RED = "red"
    BLUE = "blue"


class TreeObject(Struct, frozen=True, kw_only=True):
    """A tree."""

    height_m: Annotated[float, Meta(ge=0)]
    """In metres,
    from the ground."""
    branches: tuple["TreeObject", ...]
    """Those of its own."""


class WoodRowObject(Struct, frozen=True, kw_only=True):
    """Trees in a line."""

    first: TreeObject | None
    """The first; null in an empty row."""
    ends: tuple[float, float]
    """Where it begins and ends."""


class OtherDocument(Struct, frozen=True, kw_only=True):
    """A document with a form of its own."""

    schema: Literal["plimsoll.other/1"] = "plimsoll.other/1"
    """Its name."""


class WoodDocument(Struct, frozen=True, kw_only=True):
    """
    A wood.

    What is written
    of a wood.
    """

    schema: Literal["plimsoll.wood/1"] = "plimsoll.wood/1"
    """Its name."""
    colour: Colour | None
    """Of its leaves."""
    rows: tuple[WoodRowObject, ...]
    """From the north."""
    names: dict[str, str]
    """By language."""
    other: OtherDocument | None
    """What was found there."""


SCHEMA = schema_of(WoodDocument)
TREE = {"height_m": 3.5, "branches": []}
WOOD = {
    "schema": "plimsoll.wood/1",
    "colour": "red",
    "rows": [{"first": TREE, "ends": [0, 1]}],
    "names": {"de": "Wald"},
    "other": None,
}


def test_the_docstring_of_a_document_is_title_and_description():
    """The first paragraph is the title, the rest what it says, on one line."""
    assert ("A wood", "What is written of a wood.") == (SCHEMA["title"], SCHEMA["description"])


def test_the_docstring_below_a_field_is_its_meaning():
    """On one line, however it was broken."""
    height = SCHEMA["$defs"]["tree"]["properties"]["height_m"]

    assert {"type": "number", "minimum": 0, "description": "In metres, from the ground."} == height


def test_objects_are_defined_once_without_the_name_of_the_document():
    """Each object has a definition, also one that has objects of its own kind."""
    assert ["row", "tree"] == sorted(SCHEMA["$defs"])


def test_words_keep_their_order():
    """A closed set is listed as the enumeration has it, with null where that may stand."""
    assert ["red", "blue", None] == SCHEMA["properties"]["colour"]["enum"]


def test_a_document_inside_another_is_an_object():
    """Its own schema describes it."""
    assert ["object", "null"] == SCHEMA["properties"]["other"]["type"]


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "plimsoll.wood/2"},
        {"colour": "green"},
        {"names": {"de": 1}},
        {"age": 3},
        {"rows": None},
        {"rows": [{"first": None}]},
        {"rows": [{"first": None, "ends": [0]}]},
        {"rows": [{"first": TREE | {"height_m": -1}, "ends": [0, 1]}]},
        {"rows": [{"first": TREE | {"branches": [{}]}, "ends": [0, 1]}]},
    ],
)
def test_what_the_struct_does_not_say_is_not_valid(change):
    """Another name, word, type, number or field, at any depth."""
    validator = jsonschema.Draft202012Validator(SCHEMA)

    assert validator.is_valid(WOOD)
    assert not validator.is_valid(WOOD | change)
