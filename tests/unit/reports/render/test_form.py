"""How a value of the model stands in a report, and that its schema says the same."""

import math
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

import jsonschema
import numpy as np
import pytest
from msgspec import UNSET, Struct, UnsetType

from plimsoll.model.written import After, Inline, Moment, Named, Number, OneOf, Window
from plimsoll.reports.render.form import Document, plain
from plimsoll.reports.schema.describe import schema_of


class Owner(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who planted it."""

    owner: str = "nobody"
    """Name, or None."""


class Tree(Struct, frozen=True, kw_only=True):
    """A tree."""

    planted_s: Moment | None
    """When it was planted."""
    pruned_s: Annotated[tuple[Moment, ...], Named("prunings")] = ()
    """When it was pruned."""
    seen_s: Window = (0, 60)
    """When it was watched."""
    height_m: Number = math.nan
    """Height."""
    price: Decimal = Decimal("1.00000049")
    """Price."""
    group: str | UnsetType = UNSET
    """Group."""
    leaf: Annotated[str, OneOf(("oak", "ash"))] = "oak"
    """Its leaf."""
    owner: Inline[Owner] = Owner()
    secret: str = "?"
    """Not for others."""

    @property
    def is_old(self) -> Annotated[bool, After("planted_s")]:
        """Whether it is old."""
        return self.planted_s == 0


class WoodDocument(Document, frozen=True, kw_only=True):
    """A wood."""

    LEFT_OUT: ClassVar = {Tree: ("secret",)}

    schema: Literal["plimsoll.wood/1"] = "plimsoll.wood/1"
    """Its name."""
    tree: Inline[Tree]
    leaf: str
    """A leaf, in other words."""
    nearest: Tree | None = None
    """The nearest tree."""


class RawDocument(Document, frozen=True, kw_only=True):
    """A wood with the model's own names."""

    IS_RAW: ClassVar = True

    schema: Literal["plimsoll.raw/1"] = "plimsoll.raw/1"
    """Its name."""
    trees: tuple[Tree, ...]
    """All trees."""


WRITTEN = {
    "planted": "1970-01-01T00:00:00Z",
    "is_old": True,
    "prunings": ["1970-01-01T00:00:01Z"],
    "seen": {"start": "1970-01-01T00:00:00Z", "end": "1970-01-01T00:01:00Z", "duration_s": 60},
    "height_m": 2,
    "price": 1.0,
    "group": None,
    "leaf": "oak",
    "owner": "nobody",
}
OAK = Tree(planted_s=0, pruned_s=(1,), height_m=np.float64(2))


def test_marks_decide_how_a_field_is_written():
    """Moments, windows, prices, numbers of numpy, what is unset or a default; what is left out is nowhere."""
    document = plain(WoodDocument(tree=OAK, leaf="long", nearest=OAK))

    assert {"schema": "plimsoll.wood/1"} | WRITTEN | {"leaf": "long", "nearest": WRITTEN} == document
    assert list(WRITTEN) == list(document["nearest"])
    jsonschema.validate(document, schema_of(WoodDocument))


def test_a_raw_document_has_the_names_of_the_model():
    """Moments are epoch seconds there, and what is inline elsewhere is an object."""
    [tree] = plain(RawDocument(trees=(OAK,)))["trees"]

    assert (0, [1], [0, 60]) == (tree["planted_s"], tree["pruned_s"], tree["seen_s"])
    assert {"owner": "nobody"} == tree["owner"]


@pytest.mark.parametrize("change", [{"leaf": "fir"}, {"planted": 0}, {"planted": "now"}, {"secret": "?"}])
def test_the_schema_knows_the_marks(change):
    """Another word, a moment in seconds and a field that is left out are not valid."""
    document = {"schema": "plimsoll.wood/1"} | WRITTEN | {"leaf": "long", "nearest": WRITTEN}
    validator = jsonschema.Draft202012Validator(schema_of(WoodDocument))

    assert validator.is_valid(document)
    assert not validator.is_valid(document | {"nearest": WRITTEN | change})


def test_the_docstring_of_the_model_is_the_meaning():
    """With what is None there as null, and how a moment is written."""
    properties = schema_of(WoodDocument)["properties"]

    assert "When it was planted. UTC, ISO 8601 to the second with `Z`." == properties["planted"]["description"]
    assert "Name, or null." == properties["owner"]["description"]
    assert "A leaf, in other words." == properties["leaf"]["description"]
