"""What a Struct says of its document, as JSON Schema; `render/test_form.py` writes the same document."""

import math
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

import jsonschema
import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from plimsoll.model.written import After, Inline, Moment, Named, Number, OneOf, Window
from plimsoll.reports.render.form import Document
from plimsoll.reports.schema.describe import schema_of


class Colour(StrEnum):
    """Not in alphabetical order."""

    RED = "red"
    BLUE = "blue"


class Owner(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who planted it."""

    owner: str = "nobody"
    """Name, or None."""
    phone: str = "?"
    """Not for others."""


class TreeObject(Struct, frozen=True, kw_only=True):
    """A tree."""

    planted_s: Moment | None
    """When it was planted."""
    pruned_s: Annotated[tuple[Moment, ...], Named("prunings")] = ()
    """When it was pruned."""
    seen_s: Window = (0, 60)
    """When it was watched."""
    height_m: Annotated[Number, Meta(ge=0)] = math.nan
    """In metres,
    from the ground."""
    price: Decimal = Decimal("1.00000049")
    """Price."""
    group: str | UnsetType = UNSET
    """Group."""
    leaf: Annotated[str, OneOf(("oak", "ash"))] = "oak"
    """Its leaf."""
    owner: Inline[Owner] = Owner()
    secret: str = "?"
    """Not for others."""
    branches: tuple["TreeObject", ...] = ()
    """Those of its own."""

    @property
    def is_old(self) -> Annotated[bool, After("planted_s")]:
        """Whether it is old."""
        return self.planted_s == 0


class WoodRowObject(Struct, frozen=True, kw_only=True):
    """Trees in a line."""

    first: Inline[TreeObject]
    leaf: str
    """A leaf, in other words."""
    last: TreeObject | None = None
    """The last; null in a row of one."""
    ends: tuple[float, float] = (0, 1)
    """Where it begins and ends."""


class OtherDocument(Document, frozen=True, kw_only=True):
    """A document with a form of its own, and with the model's own names."""

    IS_RAW: ClassVar = True

    schema: Literal["plimsoll.other/1"] = "plimsoll.other/1"
    """Its name."""
    tree: TreeObject
    """A tree."""


class WoodDocument(Document, frozen=True, kw_only=True):
    """
    A wood.

    What is written
    of a wood.
    """

    LEFT_OUT: ClassVar = {TreeObject: ("secret",)}
    ONLY: ClassVar = {Owner: ("owner",)}

    schema: Literal["plimsoll.wood/1"] = "plimsoll.wood/1"
    """Its name."""
    colour: Colour | None = Colour.RED
    """Of its leaves."""
    rows: tuple[WoodRowObject, ...]
    """From the north."""
    names: dict[str, str]
    """By language."""
    other: OtherDocument | None = None
    """What was found there."""


SCHEMA = schema_of(WoodDocument)
TREE = {
    "planted": "1970-01-01T00:00:00Z",
    "is_old": True,
    "prunings": ["1970-01-01T00:00:01Z"],
    "seen": {"start": "1970-01-01T00:00:00Z", "end": "1970-01-01T00:01:00Z", "duration_s": 60},
    "height_m": 2,
    "price": 1.0,
    "group": None,
    "leaf": "oak",
    "owner": "nobody",
    "branches": [],
}
ROW = TREE | {"leaf": "long", "last": TREE, "ends": [0, 1]}
WOOD = {"schema": "plimsoll.wood/1", "colour": "red", "rows": [ROW], "names": {"de": "Wald"}, "other": None}


def test_the_docstring_of_a_document_is_title_and_description():
    """The first paragraph is the title, the rest what it says, on one line."""
    assert ("A wood", "What is written of a wood.") == (SCHEMA["title"], SCHEMA["description"])


def test_the_docstring_below_a_field_is_its_meaning():
    """On one line, however it was broken; None is null there, and a moment says how it is written."""
    tree, row = (SCHEMA["$defs"][name]["properties"] for name in ("tree", "row"))

    assert {"type": ["number", "null"], "minimum": 0, "description": "In metres, from the ground."} == tree["height_m"]
    assert "When it was planted. UTC, ISO 8601 to the second with `Z`." == tree["planted"]["description"]
    assert "Name, or null." == row["owner"]["description"]
    assert "A leaf, in other words." == row["leaf"]["description"]


def test_objects_are_defined_once_without_the_name_of_the_document():
    """Each object has a definition, also one that has objects of its own kind."""
    assert ["row", "tree", "window"] == sorted(SCHEMA["$defs"])


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
        *(
            {"rows": [ROW | change]}
            for change in (
                {"ends": [0]},
                {"last": TREE | {"height_m": -1}},
                {"last": TREE | {"branches": [{}]}},
                {"last": TREE | {"leaf": "fir"}},
                {"planted": 0},
                {"planted": "now"},
                {"secret": "?"},
                {"phone": "?"},
            )
        ),
    ],
)
def test_what_the_struct_does_not_say_is_not_valid(change):
    """Another name, word, type, number or field, at any depth."""
    validator = jsonschema.Draft202012Validator(SCHEMA)

    assert validator.is_valid(WOOD)
    assert not validator.is_valid(WOOD | change)
