"""The workflows agree with the scripts and with RELEASING.md; `make lint` checks their form and what they may do."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.tree import ROOT
from programs import ran, script

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


def test_one_action_has_one_version():
    """The same action is at the same commit in every workflow, and in the action that we offer."""
    action = yaml.safe_load((ROOT / "integrations/github-action/action.yml").read_text("utf-8"))
    all_steps = [*action["runs"]["steps"], *(step for name in NAMES for step in steps(name))]
    used = {step["uses"] for step in all_steps if "uses" in step}

    assert len(used) == len({one.split("@")[0] for one in used})


LOCKS = re.compile(r"(.*/)?(Cargo\.lock|package-lock\.json|pom\.xml|go\.sum|requirements/[\w.-]+\.txt|locks/[\w.-]+)")


def test_every_locked_list_is_audited_or_named():
    """Lists of Python and of Rust each have a job; a list that no action reads is named with the reason."""
    tracked = ran(["git", "ls-files"], cwd=ROOT, check=True).stdout.splitlines()
    locks = {name for name in tracked if LOCKS.fullmatch(name)}
    jobs = workflow("advisories.yml")["jobs"]
    rust = {name.replace("Cargo.toml", "Cargo.lock") for name in jobs["rust"]["strategy"]["matrix"]["manifest"]}
    audited = rust | set(jobs["python"]["strategy"]["matrix"]["list"])
    text = (FOLDER / "advisories.yml").read_text(encoding="utf-8")
    left = locks - audited

    assert audited == {name for name in locks if name.endswith((".txt", ".lock"))}
    assert all(Path(name).name in text for name in left), left


@pytest.mark.parametrize("name", NAMES)
def test_a_job_that_writes_is_listed(name: str):
    """What zizmor takes for granted: a job that asks for more than reading."""
    for job, content in workflow(name)["jobs"].items():
        asked = {what for what, kind in content.get("permissions", {}).items() if kind == "write"}
        assert asked == MORE_THAN_READING.get((name, job), set()), job


def test_what_is_missing_is_installed_by_the_command_that_the_check_runs(tmp_path: Path):
    """Another user than root, without the programs, is told the command that check.yml runs before deep checks."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in ("bash", "dirname", "sed", "head", "find", "sort", "grep", "basename", "cmp"):
        (programs / tool).symlink_to(str(shutil.which(tool)))
    script(programs / "id", "echo 1000")
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/servers", tmp_path / ".ci/servers")
    (tmp_path / ".ci/postgresql").symlink_to("/bin/true")
    done = ran([tmp_path / ".ci/servers"], env=os.environ | {"PATH": str(programs)})
    cause, hint = done.stderr.splitlines()
    run = [step["run"] for step in workflow("check.yml")["jobs"]["deep"]["steps"] if "run" in step]

    assert done.returncode == 2
    assert cause.startswith("error: missing on this machine: ")
    assert {"sysstat", "fio", "fuse3"} <= set(re.split(r"[ ,]+", cause))
    assert hint == "hint: sudo .ci/servers --install"
    assert run[0] == "sudo .ci/servers --install"


def test_every_deep_check_is_a_job():
    """The jobs of check.yml are the targets of `make check-all`, and .ci/deep has each of them."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^DEEP := \$\(addprefix check-,(.*)\)", makefile, re.MULTILINE)
    assert targets is not None

    program = (ROOT / ".ci/deep").read_text(encoding="utf-8")
    assert targets[1].split() == re.findall(r'^    "(\w+)": Target\(', program, re.MULTILINE)
    assert targets[1].split() == workflow("check.yml")["jobs"]["deep"]["strategy"]["matrix"]["target"]


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
