"""Synthetic deliveries: the same seed gives the same bytes, and the manifest is exact."""

import hashlib
import re
from collections import Counter
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from formatting import formatted, plainly

from claims_pipeline.command import main
from claims_pipeline.generate import bulk
from claims_pipeline.generate.delivery import ORGANISATIONS, Order, deliver
from claims_pipeline.generate.people import mbi_of, person_of
from claims_pipeline.generate.stays import stays_of
from claims_pipeline.layout import records
from claims_pipeline.manifest import DUPLICATE, Manifest, class_of, parse

MBI = re.compile(r"[1-9]S[AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y]{2}\d\d")
FIRST = 2023 * 12


@pytest.fixture(scope="session")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Manifest]]:
    """Two months of one organisation, enough that every defect occurs."""
    folder = tmp_path_factory.mktemp("delivered")
    order = Order(folder=folder, first_month=FIRST, months=2, beneficiaries=500, seed=5)
    return folder, [deliver(order, "A1001", month) for month in (FIRST, FIRST + 1)]


def rows_of(folder: Path, manifest: Manifest, kind: str) -> list[dict[str, str]]:
    (file,) = (file for file in manifest.files if file.kind == kind)
    raw = (folder / "A1001" / manifest.month / file.name).read_bytes()
    layout = records()[kind]
    return [dict(zip(layout.columns, row, strict=True)) for row in plainly(layout, raw)[0]]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path):
    def digests(name: str, seed: int) -> list[str]:
        order = Order(folder=tmp_path / name, first_month=FIRST, months=2, beneficiaries=9, seed=seed)
        return [file.sha256 for file in deliver(order, "A1002", FIRST + 1).files]

    assert digests("a", 1) == digests("b", 1)
    assert digests("a", 1) != digests("c", 2)


def test_the_formatter_finds_what_the_manifest_says(delivered, tmp_path: Path):
    """Counts, sums and classes of faults; duplicates are for the database to find."""
    folder, manifests = delivered
    seen: Counter[str] = Counter()
    for manifest in manifests:
        for file in manifest.files:
            raw = (folder / "A1001" / manifest.month / file.name).read_bytes()
            found = formatted(records()[file.kind], raw, tmp_path)
            faults = Counter(class_of(row[2]) for row in found.quarantine)
            expected = {name: n for name, n in file.defects.items() if name != DUPLICATE}

            assert expected == dict(faults)
            assert file.formatted.rows == found.summary["rows"]
            assert file.formatted.sums == found.summary["sums"]
            assert file.records == found.summary["records"]
            assert (file.bytes, file.sha256) == (len(raw), hashlib.sha256(raw).hexdigest())
            seen += Counter(file.defects)

    assert {"bad date", "bad number", "truncated record", DUPLICATE} == set(seen)


def test_duplicates_by_the_natural_key_are_those_of_the_manifest(delivered):
    folder, manifests = delivered
    for layout in records().values():
        seen: set[tuple[str, ...]] = set()
        for manifest in manifests:
            if layout.kind == "beneficiaries":
                seen.clear()
            rows = rows_of(folder, manifest, layout.kind)
            (file,) = (file for file in manifest.files if file.kind == layout.kind)
            keys = [tuple(row[name] for name in layout.key) for row in rows]
            new = set(keys) - seen

            assert file.rows == len(new)
            assert file.defects.get(DUPLICATE, 0) == len(keys) - len(new)
            seen |= new


def test_lines_and_diagnoses_have_a_header_or_are_counted_as_orphans(delivered):
    folder, manifests = delivered
    known: set[str] = set()
    for manifest in manifests:
        known |= {row["cur_clm_uniq_id"] for row in rows_of(folder, manifest, "part_a_claims")}
        for file in manifest.files:
            if file.kind in ("part_a_lines", "part_a_diagnoses"):
                layout = records()[file.kind]
                rows = rows_of(folder, manifest, file.kind)
                orphans = {
                    tuple(row[name] for name in layout.key) for row in rows if row["cur_clm_uniq_id"] not in known
                }

                assert file.orphans == len(orphans)


def test_a_correction_cancels_what_an_earlier_month_delivered(delivered):
    folder, (before, after) = delivered
    paid = {row["clm_cntl_num"]: row["clm_pmt_amt"] for row in rows_of(folder, before, "part_a_claims")}
    later = rows_of(folder, after, "part_a_claims")
    cancelled = [row for row in later if row["clm_adjsmt_type_cd"] == "1"]
    adjusted = {row["clm_cntl_num"] for row in later if row["clm_adjsmt_type_cd"] == "2"}

    assert cancelled
    assert {row["clm_cntl_num"] for row in cancelled} == adjusted
    for row in cancelled:
        assert f"-{paid[row['clm_cntl_num']]}" == row["clm_pmt_amt"]


def test_some_stays_begin_within_30_days_of_a_discharge():
    names = (1, "A1001")
    people = [person_of(1, "A1001", number) for number in range(400)]
    returns = 0
    for person in people:
        stays = [stay for month in range(FIRST, FIRST + 12) for stay in stays_of(names, person, month)]
        for earlier, later in pairwise(stays):
            assert earlier.end < later.begin
            returns += later.begin - earlier.end <= timedelta(days=30)

    assert returns > 5


def test_nothing_is_done_for_the_dead(delivered):
    folder, manifests = delivered
    for manifest in manifests:
        died = {
            row["bene_mbi_id"]: date.fromisoformat(row["bene_death_dt"])
            for row in rows_of(folder, manifest, "beneficiaries")
            if row["bene_death_dt"]
        }
        assert died
        for row in rows_of(folder, manifest, "part_b_lines"):
            dead = died.get(row["bene_mbi_id"], date.max)
            assert date.fromisoformat(row["clm_from_dt"]) <= dead


def test_numbers_of_beneficiaries_have_the_format_of_cms_and_an_s(delivered):
    folder, manifests = delivered
    numbers = [row["bene_mbi_id"] for row in rows_of(folder, manifests[0], "beneficiaries")]

    assert all(MBI.fullmatch(number) for number in numbers)
    assert MBI.fullmatch(mbi_of(7_199_999, 39_999))
    persons = {person_of(1, name, number).mbi for name in ORGANISATIONS for number in (0, 1, 40_000)}
    assert 9 == len(persons)


@pytest.mark.parametrize("kind", ["part_a_lines", "beneficiaries"])
def test_a_large_file_repeats_a_block_with_new_keys(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, kind: str):
    monkeypatch.setattr(bulk, "BLOCK_BYTES", 500_000)
    words = ["--only", kind, "--gb", "0.002", "--seed", "3"]

    assert 0 == main(["generate", str(tmp_path), *words])
    folder = tmp_path / "A1001" / "2023-01"
    (file,) = parse((folder / "manifest.json").read_bytes()).files
    raw = (folder / file.name).read_bytes()
    found = formatted(records()[kind], raw, tmp_path)
    keys = [tuple(row[3 : 3 + len(records()[kind].key)]) for row in found.rows]

    assert 2_000_000 == pytest.approx(len(raw), rel=0.01)
    assert file.formatted.rows == len(keys) == found.summary["rows"]
    assert file.formatted.sums == found.summary["sums"]
    assert file.defects.get(DUPLICATE, 0) == len(keys) - len(set(keys))
    assert "No real person's data" in (folder / "README.txt").read_text()


def test_wrong_words_are_one_sentence(tmp_path: Path, capsys):
    assert 2 == main(["generate", str(tmp_path), "--only", "part_a_lines"])
    assert "error: --only and --gb belong together" in capsys.readouterr().err
    assert 2 == main(["generate", str(tmp_path), "--first", "2023-13"])
    assert "error: '2023-13' is no month\nhint: For example 2023-01.\n" == capsys.readouterr().err
