"""How a value of the model stands in a report."""

import math

import numpy as np

from plimsoll.reports.render.form import plain
from plimsoll.reports.render.json_values import json_bytes
from unit.reports.schema.test_describe import TREE, WOOD, OtherDocument, TreeObject, WoodDocument, WoodRowObject

OAK = TreeObject(planted_s=0, pruned_s=(1,), height_m=np.float64(2))


def test_marks_decide_how_a_field_is_written():
    """Moments, windows, prices, numbers of numpy, what is unset or a default; what is left out is nowhere."""
    document = plain(WoodDocument(rows=(WoodRowObject(first=OAK, leaf="long", last=OAK),), names={"de": "Wald"}))

    assert WOOD == document
    assert list(TREE) == list(document["rows"][0]["last"])


def test_a_raw_document_has_the_names_of_the_model():
    """Moments are epoch seconds there, and what is inline elsewhere is an object; also within another document."""
    tree = plain(WoodDocument(rows=(), names={}, other=OtherDocument(tree=OAK)))["other"]["tree"]

    assert (0, [1], [0, 60]) == (tree["planted_s"], tree["pruned_s"], tree["seen_s"])
    assert {"owner": "nobody", "phone": "?"} == tree["owner"]


def test_what_is_not_a_number_is_null():
    """NaN and infinity are not JSON; they mean unknown."""
    trees = [TreeObject(planted_s=None, height_m=one) for one in (math.nan, math.inf)]

    assert all(b'"height_m": null' in json_bytes(OtherDocument(tree=tree)) for tree in trees)
