"""Reports of odd cases, as people see them: what each sentence says where something is missing or other."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

import inspections
import plans
from golden.together import texts, together
from plimsoll.app.render import Report, render
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.diagnosis.overview import overview_of, overview_row
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Diagnosis, Verdict
from plimsoll.model.now import intervals_at
from plimsoll.model.overview import Overview
from plimsoll.model.sheet import UnusableStorage
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.compare.headline import compare_headline
from plimsoll.reports.diagnosis.headline import headline
from unit.reports import fixture_fleet as rows
from unit.reports.diagnosis import test_waiting
from unit.reports.fixture_diagnosis import pressed, quiet, unknown
from unit.reports.fixture_parts import CPU, VOLUME_THROUGHPUT, interval, resource
from unit.reports.fixture_sheet import rate, row, sheet

Diagnosed = tuple[Diagnosis, Snapshot]


def headlines() -> dict[str, str]:
    """The sentence of a diagnosis, by what was found."""
    found, (calm, _), (blind, _) = pressed()[0], quiet(), unknown()
    end_s = found.window_s[1]
    at = found.binding
    assert at is not None
    last = max(intervals_at(found, at), key=lambda i: i.end_s)
    still = tuple(replace(i, end_s=end_s) if i == last else i for i in found.intervals)
    burst = next(one for one in found.time_at if one != at)
    other = interval(end_s - 600, end_s, burst.ceiling, level=burst.level)
    volume = replace(at, family=Family.VOLUME_THROUGHPUT, phase=Phase.FIXED, ceiling=VOLUME_THROUGHPUT)
    level = replace(at, family=Family.UNKNOWN, level=185e6, ceiling=None)
    cpu = resource(Family.CPU, Verdict.BINDS, "CPU", CPU, 1.0, 1.0, 0.9, 600.0)
    waits = test_waiting.FOUND
    waiting = replace(waits.waiting[0], end_s=waits.window_s[1])
    return {
        name: headline(one)
        for name, one in {
            "a documented limit with its phase": found,
            "to the end of the window": replace(found, intervals=still),
            "another limit at the end": replace(found, intervals=(*found.intervals, other)),
            "a limit with one number": replace(found, binding=volume),
            "an unknown limit": replace(found, binding=level),
            "an unknown limit of operations": replace(
                found, binding=replace(level, dimension=Dimension.IOPS, level=3000.0)
            ),
            "the CPU": replace(calm, verdict=Verdict.BINDS, resources=(cpu,)),
            "near": replace(found, verdict=Verdict.NEAR, binding=None, intervals=()),
            "slack": calm,
            "slack without ceilings": replace(calm, resources=()),
            "unknown": blind,
            "unknown for one gap": replace(blind, missing=blind.missing[:1]),
            "unknown for no gap that is known": replace(blind, missing=()),
            "waited": waits,
            "still waiting": replace(waits, waiting=(waiting,)),
        }.items()
    }


def compared() -> dict[str, str]:
    """Comparisons of made-up diagnoses."""

    def bought(case: Callable[[], Diagnosed], **other: object) -> Diagnosed:
        diagnosis, shot = case()
        return replace(diagnosis, instance=replace(diagnosis.instance, **other)), shot

    found, shot = pressed()
    calm, calm_shot = quiet()
    made = replace(calm, is_simulated=True, note="Made.")
    level = CeilingTime(
        family=Family.UNKNOWN,
        phase=Phase.FIXED,
        dimension=Dimension.IOPS,
        level=9_000.0,
        seconds=36_000.0,
        interval_count=3,
        ceiling=None,
    )
    sides = {
        "pressed, quiet": (*pressed(), *quiet()),
        "pressed, pressed": (*pressed(), *pressed()),
        "unknown, quiet": (*unknown(), *quiet()),
        "simulated in two ways": (*pressed(), made, calm_shot),
        "an unknown limit": (*quiet(), replace(found, binding=level, time_at=(level,)), shot),
        "half as long": (found, shot, replace(found, measured_s=found.measured_s / 2), shot),
    }
    sentences = {
        "another class": (*pressed(), *bought(quiet, db_class="db.r5.4xlarge")),
        "two instances": (*pressed(), *bought(quiet, identifier="orders")),
        "nothing bought": (found, shot, replace(found, intervals=(), time_at=()), shot),
        "the sides exchanged": (*quiet(), *pressed()),
    }
    return texts({name: compare(*side) for name, side in sides.items()}, 80) | {
        name: compare_headline(compare(*side)) for name, side in sentences.items()
    }


def planned() -> dict[str, str]:
    """Plans of which a part is other than in those of golden/plan."""
    nowhere = plans.option(effect=plans.effect(plans.band(0)))
    bare = replace(plans.cost("0.318"), usd_per_month=None, unknown=("gp2 has no price here",))
    full = plans.option(effect=plans.effect(plans.band(3), balance_min_ratio=1.0))
    longer = replace(plans.unsure().disruption, optimising_s=None, moved_bytes=None)
    found = {
        "no minutes behind a ceiling": plans.claims(options=(nowhere,)),
        "more demand": plans.quiet(growth=2.0),
        "the whole price is unknown": plans.claims(options=(plans.option(cost=bare),)),
        "no credit is spent": plans.claims(options=(full,)),
        "how long it optimises is unknown": plans.claims(options=(replace(plans.unsure(), disruption=longer),)),
        "work that is spread": plans.claims(options=(plans.free(),)),
        "old prices": plans.claims(prices_as_of="2025-10-15", are_prices_old=True),
    }
    licensed = replace(plans.INSTANCE, license_model="bring-your-own-license")
    return texts(found, 120) | {
        "licensed, as Markdown": render(plans.claims(instance=licensed), "markdown"),
        "narrow": render(plans.claims(), width=40),
    }


def inspected() -> dict[str, str]:
    """Inspections made by hand."""
    again = replace(inspections.cause(), title="45 % of all that is written again, 96.4 MB/s")
    running = replace(inspections.vacuum(), is_estimated=True, uncounted_bytes_per_s=41e6)
    missing = inspections.inspection().missing
    made = {name: make() for name, make in inspections.INSPECTIONS.items()}
    return texts(
        made
        | {
            "a title with its rate": inspections.inspection(causes=(again,)),
            "a vacuum that runs": inspections.inspection(causes=(running,)),
            "one gap": replace(inspections.quiet(), causes=(), missing=missing),
            "a note and two gaps": replace(inspections.quiet(), missing=missing * 2),
        },
        120,
    ) | {"search, as Markdown": render(inspections.inspection(), "markdown")}


def sheets() -> dict[str, str]:
    """Limit sheets made by hand."""

    def lost(bought: float, burst: float, baseline: float) -> UnusableStorage:
        return UnusableStorage(family=Family.VOLUME_IOPS, unit="ops/s", bought=bought, burst=burst, baseline=baseline)

    flat = (row(8, rate(24.576, 3000)), row(1024, rate(131.07, 125)))
    found = {
        "with a burst": sheet(),
        "without a burst": sheet(flat),
        "without a knee": sheet(knee=None),
        "without a curve": sheet((), knee=None, notes=("Nothing is known.",)),
        "beyond the burst": sheet((), unreachable=(lost(30_000, 18_750, 12_000),)),
        "between baseline and burst": sheet((), unreachable=(lost(15_000, 18_750, 12_000),)),
        "beyond a class without a burst": sheet((), unreachable=(lost(30_000, 18_750, 18_750),)),
    }
    return texts(found, 80) | {"narrow": render(sheet(), width=60)}


def waited() -> dict[str, str]:
    """Waiting that no ceiling explains, in a report and in the table of a fleet."""
    found, calm = test_waiting.FOUND, test_waiting.CALM
    report = Report(diagnosis=found, snapshot=test_waiting.SHOT)
    near = replace(calm, verdict=Verdict.NEAR, instance=replace(calm.instance, identifier="a-near"))
    fleets = {
        f"a fleet of {count}": overview_of(
            [overview_row(one) for one in (near, found)[-count:]], (), window_s=found.window_s, source="rds:*"
        )
        for count in (1, 2)
    }
    return {
        "text": render(report, width=80),
        "narrow": render(report, width=60),
        "Markdown": render(report, "markdown"),
    } | texts(fleets)


def fleets() -> dict[str, str]:
    """Fleets of one row, and readings that cost or stopped otherwise."""

    def alone(**other: object) -> Overview:
        return rows.fleet((rows.row("a", Verdict.BINDS, **other),), ())

    close = rows.near("connections", Family.CONNECTIONS, 0.93, Verdict.NEAR, unit="count")
    cpu = replace(rows.fleet().rows[4].nearest, name="CPU", verdict=Verdict.BINDS)
    legacy = rows.LEGACY
    found = {
        f"{count} intervals, {'now' if is_now else 'over'}": rows.bound(
            legacy.family, legacy.phase, 212.5e6, 3600, count=count, ago_s=0 if is_now else 7200
        )
        for count in (1, 3)
        for is_now in (False, True)
    }
    simulated = [replace(one, is_simulated=True) for one in rows.SLACK[:2]]
    return texts(
        {
            "at another limit now": alone(binding=legacy, now=rows.BURST),
            "the CPU": alone(nearest=cpu),
            "near, and not to be judged": rows.fleet((replace(rows.UNKNOWN[0], nearest=close),), ()),
            "all simulated": rows.fleet(simulated, ()),
            "stopped": rows.fleet(rows.SLACK[:1], (), stopped="the security token expired. Log in again."),
            "at an unknown price": rows.fleet(rows.SLACK[:1], (), usd=None),
            "without an API": rows.fleet(rows.SLACK[:1], (), usage=None),
            "nobody": rows.fleet((), (), usage=None, usd=None, window_s=None),
        }
        | {name: alone(binding=at, now=at if name.endswith("now") else None) for name, at in found.items()}
    )


SHEAVES: dict[str, Callable[[], dict[str, str]]] = {
    "headlines": headlines,
    "comparisons": compared,
    "plans": planned,
    "inspections": inspected,
    "limit-sheets": sheets,
    "waiting": waited,
    "fleets": fleets,
}


@pytest.mark.parametrize("name", SHEAVES)
def test_they_read_as_reviewed(name: str, golden: Callable[[str, str], None]):
    """Every sentence, number and unknown of each report, below the name of its case."""
    golden(f"variants/{name}.txt", together(SHEAVES[name]()))
