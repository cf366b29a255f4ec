"""Price and performance as a specification, and its pictures."""

import struct
from decimal import Decimal

import altair as alt
import pytest
from msgspec.structs import replace

import plans
from plimsoll.errors import UsageError
from plimsoll.model.plan import CurvePoint, Judgement
from plimsoll.reports.chart.look import LIGHT, page_look
from plimsoll.reports.plan.chart import has_chart, plan_spec, proposed, write_plan_picture


def priced(*prices, served=0.5):
    """A plan whose curve has these prices, and nothing else has one."""
    points = tuple(
        CurvePoint(name=f"db.x{n}", usd_per_month=Decimal(price), served_ratio=plans.band(served))
        for n, price in enumerate(prices)
    )
    return plans.nothing(curve=points)


def plot(spec):
    """The view with the axes: the first of a titled picture, whose second is the key."""
    return spec["vconcat"][0] if "vconcat" in spec else spec


def drawn(spec, kind):
    """The points of a kind that the specification draws."""
    values = [value for layer in plot(spec)["layer"] for value in layer["data"]["values"]]
    return [value for value in values if value.get("kind") == kind]


def texts(view):
    """Every text that a view writes."""
    marks = [layer for layer in view["layer"] if layer["mark"]["type"] == "text"]
    return [layer["encoding"]["text"]["value"] for layer in marks]


@pytest.mark.parametrize("name", ["claims", "quiet"])
@pytest.mark.parametrize("look", [LIGHT, page_look()])
def test_specifications_satisfy_the_schema_of_vega_lite(name, look):
    """Altair, which carries the Vega-Lite schema, accepts every specification."""
    alt.VConcatChart.validate(plan_spec(plans.PLANS[name](), look=look))
    alt.LayerChart.validate(plan_spec(plans.PLANS[name](), look=look, is_titled=False))


def test_what_is_there_and_what_is_proposed_are_named():
    """Each has a mark of its own shape and a name with its price."""
    spec = plan_spec(plans.claims())
    shapes = [layer["mark"].get("shape") for layer in plot(spec)["layer"]]

    assert {"circle", "diamond"} <= set(shapes)
    assert {"now: db.t3.xlarge, $349.70", "2: db.m6g.xlarge, $370.14", "3"} == set(texts(plot(spec)))


def test_work_that_is_spread_is_in_the_key_and_not_drawn():
    """What it will be served is not known, so it has no place."""
    spec = plan_spec(plans.claims(options=(plans.free(),)))

    assert [] == drawn(spec, "option")
    assert "jobs one after the other (same price)" in texts(spec["vconcat"][1])


def test_the_key_says_what_every_number_is():
    """Verdict with its sign, price and the whole arrangement, in the order of the report."""
    text = texts(plan_spec(plans.claims())["vconcat"][1])

    assert ["now", "✕ does not", "$349.70", "db.t3.xlarge, gp2 1,200 GiB"] == text[:4]
    assert "db.m6g.xlarge, storage as it is (+$0.67 a day)" in text


def test_a_difference_that_is_not_known_is_not_in_the_key():
    """The price that is known stands alone."""
    option = replace(plans.option(), usd_per_day_more=None)
    text = texts(plan_spec(plans.claims(options=(option,)))["vconcat"][1])

    assert "db.m6g.xlarge, storage as it is" in text
    assert "$370.14" in text


def test_marks_upon_each_other_share_a_name():
    """Work that is spread costs and serves what is there: one mark to the eye, and one name."""
    same = replace(plans.option(), cost=plans.present().cost, effect=plans.present().effect)
    plan = plans.claims(options=(replace(same, judgement=Judgement.UNSURE),))

    assert "now and 1: db.t3.xlarge, $349.70" in texts(plot(plan_spec(plan)))


def test_the_line_never_falls():
    """What is there may serve less than something cheaper; it has a mark, and the line passes it by."""
    points = [point["middle"] for point in drawn(plan_spec(fallen()), "curve")]

    assert [0.3, 0.6, 0.9] == sorted(set(points))


def fallen():
    """A plan whose third arrangement serves less than the second."""
    served = ((100, 0.3), (200, 0.6), (300, 0.4), (400, 0.9))
    points = tuple(
        CurvePoint(name=f"db.x{usd}", usd_per_month=Decimal(usd), served_ratio=plans.band(share), is_present=usd == 300)
        for usd, share in served
    )
    return plans.nothing(curve=points)


def test_what_is_proposed_is_the_first_that_lifts():
    """A free move that is not enough is not proposed; nor is one that is unsure."""
    found = proposed(plans.claims())

    assert found is not None
    assert "db.m6g.xlarge, storage as it is" == found.title
    assert proposed(plans.claims(options=(plans.free(), plans.unsure()))) is None


def test_what_saves_most_is_proposed_where_nothing_needs_a_way_past():
    """As the headline says it."""
    less = [replace(plans.option(), usd_per_day_more=Decimal(more)) for more in (-1, -7, -3)]
    calm = plans.present(judgement=Judgement.LIFTS)

    assert less[1] is proposed(plans.claims(present=calm, options=tuple(less)))


def test_the_axis_is_logarithmic_where_prices_are_wide_apart():
    """Six times the price and more; below that it is linear. The title says which."""
    near = plot(plan_spec(priced(100, 300)))["encoding"]["x"]
    wide = plot(plan_spec(priced(100, 700)))["encoding"]["x"]

    assert "linear" == near["scale"]["type"]
    assert "log" == wide["scale"]["type"]
    assert "US dollars a month (logarithmic)" == wide["axis"]["title"]
    assert len(wide["axis"]["values"]) >= 4


@pytest.mark.parametrize("prices", [(100,), (100, 100), (0, 5), (90, 100_000)])
def test_every_point_lies_within_the_axes(prices):
    """Also where all cost the same, nothing, or a thousand times as much."""
    encoding = plot(plan_spec(priced(*prices)))["encoding"]
    low, high = encoding["x"]["scale"]["domain"]
    bottom, top = encoding["y"]["scale"]["domain"]

    assert low <= min(prices) <= max(prices) <= high
    assert low < high
    assert bottom < 0.5
    assert top > 1


def test_the_axis_begins_where_there_is_something_to_see():
    """Where all serve nearly everything, the axis is not drawn from zero."""
    values = plot(plan_spec(priced(100, 200, served=0.97)))["encoding"]["y"]["axis"]["values"]

    assert [0.8, 0.9, 1.0] == values


def test_a_price_that_is_not_known_is_not_drawn():
    """Not at zero, and not at all."""
    plan = plans.claims(present=plans.present(cost=plans.cost(None)))

    assert [] == drawn(plan_spec(plan), "present")
    assert has_chart(plan)
    assert not has_chart(plans.nothing())


def test_a_picture_is_written_as_its_name_says(tmp_path):
    """PNG and SVG; equal plans give equal bytes."""
    for name in ("a.png", "b.png", "a.svg"):
        write_plan_picture(tmp_path / name, plans.claims())
    png = (tmp_path / "a.png").read_bytes()
    width, height = struct.unpack(">II", png[16:24])

    assert png == (tmp_path / "b.png").read_bytes()
    assert width > 1000
    assert height > 500
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")


def test_another_ending_is_refused(tmp_path):
    """The ending selects the kind of picture; without a price there is none."""
    with pytest.raises(UsageError, match=r"'a\.pdf' does not end in \.png or \.svg"):
        write_plan_picture(tmp_path / "a.pdf", plans.nothing())
    with pytest.raises(UsageError, match="there is no price to draw"):
        write_plan_picture(tmp_path / "a.png", plans.nothing())


def test_a_title_is_text():
    """Names from outside hold no control characters."""
    option = replace(plans.option(), title="a\x1b[2J")
    spec = plan_spec(plans.claims(options=(option,)))

    assert "\x1b" not in drawn(spec, "proposed")[0]["label"]
