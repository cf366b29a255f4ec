"""The GitHub Action and the hooks of pre-commit: what they declare is what they run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.tree import ROOT
from programs import ran

FOLDER = ROOT / "integrations/github-action"
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
HOOKS: list[dict[str, str]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
PLAN = ROOT / "examples/infrastructure/plan.json"


def run(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the action in a folder, as GitHub does."""
    given = {
        "TOOL": "terraform", "FILES": "", "REGION": "", "PARAMETERS": "", "FAIL_ON": "warning",
        "SARIF_FILE": "plimsoll.sarif",
    }  # fmt: skip
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    return ran(
        ["bash", FOLDER / "lint.sh"], cwd=folder, env={**os.environ, "PATH": programs, **given, **files, **inputs}
    )


def test_every_input_reaches_the_script_as_a_variable():
    """Zizmor refuses an input in the text of a script, where a name could become a command."""
    passed = {value for step in ACTION["runs"]["steps"] for value in step.get("env", {}).values()}

    for name in ACTION["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in passed


def test_the_readme_lists_every_input_and_output():
    """Each has a row of a table."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")

    for name in [*ACTION["inputs"], *ACTION["outputs"]]:
        assert f"| `{name}` |" in text


def test_a_finding_fails_the_job_and_leaves_a_report(tmp_path: Path):
    """Globs and names with spaces; the summary is Markdown, the file SARIF."""
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b/my plan.json").write_bytes(PLAN.read_bytes())
    result = run(tmp_path, FILES="**/*plan.json\n\n")

    assert (1, "") == (result.returncode, result.stderr)
    assert "30,000 IOPS" in (tmp_path / "summary").read_text(encoding="utf-8")
    log = json.loads((tmp_path / "plimsoll.sarif").read_text(encoding="utf-8"))
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert "a%20b/my%20plan.json" == uri
    assert "sarif-file=plimsoll.sarif\nstatus=1\n" == (tmp_path / "output").read_text()


def test_a_template_with_its_options(tmp_path: Path):
    """Region and parameters reach the check."""
    (tmp_path / "template.yaml").write_bytes((ROOT / "examples/infrastructure/template.yaml").read_bytes())
    result = run(tmp_path, TOOL="cloudformation", FILES="template.yaml", REGION="us-east-1", PARAMETERS="Iops=12000\n")

    assert 0 == result.returncode
    assert "Nothing found." in result.stdout


@pytest.mark.parametrize("files", ["", "nowhere*.json", "nowhere.json"])
def test_no_file_is_bad_input(files: str, tmp_path: Path):
    """A job that checked nothing must not pass."""
    result = run(tmp_path, FILES=files)

    assert 2 == result.returncode
    assert "::error::" in result.stdout or "no such file" in result.stderr


def commands_of(log: str) -> list[str]:
    """The commands that a runner takes from a log, as actions/runner does: none between stop and token."""
    found, token = [], None
    for line in log.splitlines():
        match = re.match(r"\s*::([\w-]+)(?: [^:]*)?::(.*)", line) or re.search(r"##\[([\w-]+)[^\]]*\](.*)", line)
        if match is None:
            continue
        if token is not None:
            token = None if match[1] == token else token
        elif match[1] == "stop-commands":
            token = match[2]
        else:
            found.append(match[0].strip())
    assert token is None
    return found


@pytest.mark.attack(
    "A pull request names a resource so that a line of the log is a command of GitHub's runner",
    "the runner takes no command from the report: it is between `::stop-commands::` and a random token",
)
@pytest.mark.parametrize(
    "name", ["\n::error::pwned", "a ##[error]pwned", "x" * 70 + " ::add-mask::pwned", "\n  ::set-env name=A::b"]
)
@pytest.mark.parametrize("is_readable", [True, False])
def test_a_name_cannot_be_a_command_of_the_runner(tmp_path: Path, name: str, is_readable: bool):
    """In the report, at the place where a line wraps, and in what standard error says."""
    plan = json.loads(PLAN.read_text(encoding="utf-8"))
    for change in plan["resource_changes"]:
        change["address"] += f'["{name}"]'
        if not is_readable:
            change["change"]["after"]["allocated_storage"] = -1
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    result = run(tmp_path, FILES="plan.json")

    assert (1 if is_readable else 2) == result.returncode
    assert [] == commands_of(result.stdout)
    # Both streams are one log, and the first line of it is the stop.
    first, *_, last = result.stdout.splitlines()
    assert (f"::stop-commands::{last.strip(':')}", 32) == (first, len(last.strip(":")))


def test_the_token_is_another_one_each_time(tmp_path: Path):
    """Or a pull request could name it."""
    firsts = {run(tmp_path, FILES="").stdout.splitlines()[0] for _ in range(3)}

    assert 3 == len(firsts)


def test_a_message_of_our_own_is_one_command(tmp_path: Path):
    """A pattern that matches nothing is repeated in it: percent signs are escaped."""
    result = run(tmp_path, FILES="no%0A::error::x*.json")

    assert ["::error::no file matches 'no%250A::error::x*.json'"] == commands_of(result.stdout)


def test_hooks_call_the_commands():
    """One hook for each command, with the installed program."""
    entries = {hook["id"]: hook["entry"] for hook in HOOKS}

    assert entries == {
        "plimsoll-cloudformation": "plimsoll lint cloudformation",
        "plimsoll-terraform": "plimsoll lint terraform",
    }


@pytest.mark.parametrize(
    ("name", "is_checked"),
    [
        ("template.yaml", True),
        ("infra/template.yml", True),
        ("cdk.out/Stack.template.json", True),
        ("db.cfn.yaml", True),
        ("db.template", True),
        ("infra/parameters.json", False),
        ("email-template.yaml", False),
        ("values.yaml", False),
    ],
)
def test_the_hook_takes_templates_by_their_usual_names(name: str, is_checked: bool):
    """A parameter file in the same folder is no template."""
    (pattern,) = [hook["files"] for hook in HOOKS if hook["id"] == "plimsoll-cloudformation"]

    assert is_checked == (re.search(pattern, name) is not None)
