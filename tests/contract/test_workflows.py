"""The workflows: what they run is pinned, may do little, and agrees with the scripts and with RELEASING.md."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.tree import ROOT

FOLDER = ROOT / ".github/workflows"
NAMES = sorted(file.name for file in FOLDER.iterdir())
# What a job may do beyond reading the repository: its reason is in the workflow's comments.
MORE_THAN_READING = {
    ("release.yml", "provenance"): {"id-token", "attestations"},
    ("release.yml", "package-index"): {"id-token"},
    ("release.yml", "image"): {"packages", "id-token", "attestations"},
    ("release.yml", "github-release"): {"contents"},
}


def workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


def commands(name: str) -> list[str]:
    return [step["run"] for step in steps(name) if "run" in step]


def test_there_are_three():
    """Checks of a change, advisories of what is locked, and releases."""
    assert ["advisories.yml", "check.yml", "release.yml"] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_pinned_to_commits(name: str):
    """A tag can be moved, a commit cannot; a comment gives the version for people and for Dependabot."""
    lines = re.findall(r"uses: *(.*)", (FOLDER / name).read_text(encoding="utf-8"))

    assert len(lines) == sum("uses" in step for step in steps(name)) > 0
    for line in lines:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+(\.\d+)*", line), line


def test_one_action_has_one_version():
    """The same action is at the same commit in every workflow."""
    used = {step["uses"] for name in NAMES for step in steps(name) if "uses" in step}

    assert len(used) == len({one.split("@")[0] for one in used})


LOCKS = re.compile(
    r"(.*/)?(Cargo\.lock|package-lock\.json|pom\.xml|go\.sum|requirements/[\w.-]+\.txt|locks/[\w.-]+)"
)


def test_every_locked_list_is_audited_or_named():
    """Lists of Python and of Rust each have a job; a list that no action reads is named with the reason."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    locks = {name for name in tracked if LOCKS.fullmatch(name)}
    jobs = workflow("advisories.yml")["jobs"]
    rust = {
        name.replace("Cargo.toml", "Cargo.lock")
        for name in jobs["rust"]["strategy"]["matrix"]["manifest"]
    }
    audited = rust | set(jobs["python"]["strategy"]["matrix"]["list"])
    text = (FOLDER / "advisories.yml").read_text(encoding="utf-8")
    left = locks - audited

    assert audited == {name for name in locks if name.endswith((".txt", ".lock"))}
    assert all(Path(name).name in text for name in left), left


@pytest.mark.parametrize("name", NAMES)
def test_permissions_are_least(name: str):
    """A workflow reads the repository; a job that needs more asks for it, and none keeps the token in its checkout."""
    whole = workflow(name)

    assert whole["permissions"] == {"contents": "read"}
    for job, content in whole["jobs"].items():
        asked = {what for what, kind in content.get("permissions", {}).items() if kind == "write"}
        assert asked == MORE_THAN_READING.get((name, job), set()), job
    for step in steps(name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", NAMES)
def test_no_command_contains_what_others_write(name: str):
    """Titles, branches and names of others reach a shell as variables, not as text of the command."""
    for command in commands(name):
        assert set(re.findall(r"\$\{\{ *([\w.-]+)", command)) <= {
            "matrix.kind", "matrix.more", "matrix.rust"
        }, command  # fmt: skip


def test_what_is_missing_is_installed_by_the_command_that_the_check_runs(tmp_path: Path):
    """Another user than root, without the programs, is told the command that check.yml runs before `make test`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in ("bash", "dirname", "sed", "head", "find", "sort", "grep", "basename", "cmp"):
        (programs / tool).symlink_to(str(shutil.which(tool)))
    (programs / "id").write_text("#!/bin/sh\necho 1000\n", encoding="utf-8")
    (programs / "id").chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/servers", tmp_path / ".ci/servers")
    (tmp_path / ".ci/postgresql").symlink_to("/bin/true")
    done = subprocess.run(
        [tmp_path / ".ci/servers"],
        env=os.environ | {"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    cause, hint = done.stderr.splitlines()
    run = commands("check.yml")

    assert done.returncode == 2
    assert cause.startswith("error: missing on this machine: ")
    assert {"sysstat", "fio", "fuse3"} <= set(re.split(r"[ ,]+", cause))
    assert hint == "hint: sudo .ci/servers --install"
    assert run.index("sudo .ci/servers --install") < run.index("make test")


def test_the_check_has_the_time_that_it_takes():
    """`make test` takes more than an hour on two processors."""
    assert workflow("check.yml")["jobs"]["check"]["timeout-minutes"] >= 90


def test_the_release_builds_what_its_description_says():
    """RELEASING.md has a row for each wheel, and names each file that is made of them."""
    text = (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `((?:many|musl)linux-\w+|macos-\w+)`", text, re.MULTILINE))
    jobs = workflow("release.yml")["jobs"]
    built = {one["name"] for one in jobs["wheel"]["strategy"]["matrix"]["include"]}
    made = "\n".join(commands("release.yml"))

    assert rows == built
    assert f"-eq {len(built)} &&" in made
    for file in ("SHA256SUMS", "plimsoll-db.rb"):
        assert file in made
        assert f"`{file}`" in text
    for job in jobs:
        assert f"`{job}`" in text


def test_only_a_tag_publishes():
    """Started by hand, the workflow builds and publishes nothing."""
    for job, content in workflow("release.yml")["jobs"].items():
        if job not in {"wheel", "provenance"}:
            assert content["if"] == "github.ref_type == 'tag'", job
