"""A load that saves whole documents, pinned at a ceiling: which one, who takes it, and the remedy."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from live.machine import Run
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot

pytestmark = pytest.mark.realtime

# 56.25 MB/s of reads and writes, no credits: what two slow processors reach by half their time.
LAB = (
    *("lab", "postgres", "--class", "db.m4.large", "--storage", "gp3", "--size-gib", "400"),
    *("--memory", "64MiB", "--clock", "60", "--inspect"),
)
# The diagnosis wants a level for eight emulated minutes; a machine that stalls under other work spoils a
# second here and there, and is given more. That there is no level shows sooner.
PINNED_S = (20, 30, 40)
MENDED_S = (10, 10, 10)
# More than a disk at its ceiling has time for when whole documents are saved, less when what changed is.
RATE = ("--rate", "600")
CEILING = "instance_ebs_throughput"


@dataclass(frozen=True, kw_only=True)
class Lab:
    """One run of the lab, and what `plimsoll diagnose` says of its snapshot."""

    done: subprocess.CompletedProcess
    report: dict
    snapshot: Snapshot
    truth: dict

    @property
    def is_void(self) -> bool:
        """Whether this machine was too slow to prove anything."""
        return self.truth["is_void"]

    @property
    def ratio_at_ceiling(self) -> float:
        """Share 0–1 of the emulated minutes, as diagnosed."""
        at = sum(one["seconds"] for one in self.report["time_at"])
        return at / self.report["window"]["duration_s"]

    @property
    def ratio_held(self) -> float:
        """Share 0–1 of the time for which the gate really held requests back at the ceiling."""
        held = sum(one["seconds"] for one in self.truth["bound"] if one["stage"] == CEILING)
        return held / sum(moment["length_s"] for moment in self.truth["moments"])

    @property
    def updates_per_s(self) -> float:
        """Documents that were saved."""
        seen = self.snapshot.observation
        before, after = (
            next(r for r in reading.relations if r.name == "public.documents") for reading in (seen.first, seen.last)
        )
        return (after.updated - before.updated) / seen.seconds

    @property
    def bytes_per_update(self) -> float:
        """What the disk moved, reads and writes, for each document that was saved."""
        moments = self.truth["moments"]
        moved = sum(m["bytes_per_s"] * m["length_s"] for m in moments)
        return moved / sum(m["length_s"] for m in moments) / self.updates_per_s

    def causes(self, kind: str) -> list[dict]:
        """Of one detector."""
        return [c for c in self.report["inspection"]["causes"] if c["kind"] == kind]


def worked(run: Run, folder: Path, workload: str, seconds: int) -> Lab:
    """Let the lab work for a while and diagnose the snapshot it saved."""
    file = folder / f"{workload}.json"
    what = ("--workload", workload, "--for", f"{seconds}s", "-o", str(file), "--width", "120")
    done = run(*LAB, *RATE, *what)
    assert file.exists(), done.stderr
    diagnosed = run("diagnose", str(file), "--format", "json")
    return Lab(
        done=done,
        report=json.loads(diagnosed.stdout),
        snapshot=decode_snapshot(file.read_bytes()),
        truth=json.loads(file.with_suffix(".truth.json").read_bytes()),
    )


def test_the_rewrites_at_a_ceiling_are_named_and_gone_after_the_remedy(run: Run, tmp_path: Path):
    """The ceiling, the column that is sent again, its part of the bytes and vacuum's; without it none of them."""
    for seconds in PINNED_S:
        pinned = worked(run, tmp_path, "toast", seconds)
        if not pinned.is_void and pinned.ratio_at_ceiling:
            break
    for seconds in MENDED_S:
        found = worked(run, tmp_path, "toast-fixed", seconds)
        if not found.is_void:
            break
    (rewrite,) = pinned.causes("toast")
    vacuums = [c for c in pinned.causes("vacuum") if c["subject"] == "public.documents (TOAST)"]
    shares = [c["share_of_load"] for c in (rewrite, *vacuums)]
    output = " ".join(pinned.done.stdout.split())

    # Which ceiling, and for how long.
    assert not pinned.is_void, pinned.truth["sentence"]
    assert CEILING == pinned.report["binding"]["family"]
    assert "up against its instance EBS throughput" in output
    assert pinned.ratio_held > 0.5
    assert "instance EBS throughput" == pinned.report["inspection"]["ceiling"]["name"]
    # Who takes it: a value of five chunks leaves six dead rows.
    assert ("public.documents.body", "critical") == (rewrite["subject"], rewrite["severity"])
    assert 6 == rewrite["evidence"][0]["value"]
    assert shares[0] > 0.25
    assert sum(shares[1:]) > 0.05
    assert "CAUSES" in output
    # As much as the disk no longer moves for a document of which only what changed is saved.
    spared = 1 - found.bytes_per_update / pinned.bytes_per_update
    assert sum(shares) == pytest.approx(spared, abs=0.15), (shares, spared)
    # And after the remedy.
    assert not found.is_void, found.truth["sentence"]
    assert not found.causes("toast")
    assert not [c for c in found.causes("vacuum") if c["severity"] != "note"]
    assert found.updates_per_s > pinned.updates_per_s
    assert found.ratio_at_ceiling < 0.5 * pinned.ratio_at_ceiling
    assert found.ratio_held < 0.5 * pinned.ratio_held
