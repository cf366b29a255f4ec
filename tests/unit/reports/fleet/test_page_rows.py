"""The rows of a page are compact JSON that cannot end its script element."""

import json
from collections.abc import Mapping
from typing import Any

import fleets
from plimsoll.reports.fleet.page_rows import rows_json


def columns(**more: object) -> dict[str, Mapping[str, Any]]:
    return {c["title"]: c for c in json.loads(rows_json(fleets.fleet(**more)))["columns"]}  # type: ignore[arg-type]


def test_no_text_ends_the_script():
    assert "<" not in rows_json(fleets.fleet())


def test_a_column_has_a_value_for_each_row_and_each_text_once():
    classes = columns()["Class"]

    assert len(fleets.ROWS) == len(classes["at"])
    assert len(set(classes["words"])) == len(classes["words"]) == 3
    assert None in classes["at"]


def test_a_column_without_values_is_left_out():
    assert "Recommended change" not in columns(rows=(fleets.row("a"),))
    assert "Instance" in columns(rows=(fleets.row("a"),))


def test_numbers_that_json_does_not_have_are_not_known():
    rows = (fleets.bound("a", 0.5, empty_in_s=float("inf")), fleets.bound("b", 0.5, empty_in_s=60.4))

    assert [None, 60] == columns(rows=rows)["Empty in"]["values"]


def test_a_saving_is_above_zero_and_a_cost_has_its_sign():
    assert 5.4 in columns()["Saving $/day"]["values"]
    assert 3.82 in columns()["Change $/day"]["values"]


def test_tags_are_words_to_search():
    assert "env: prod, team: shop" in columns()["Tags"]["words"]
