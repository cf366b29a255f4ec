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

FOLDER = ROOT / "integrations/github-action"
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
HOOKS: list[dict[str, str]] = yaml.safe_load(
    (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
)
PLAN = ROOT / "examples/infrastructure/plan.json"


def run(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the action in a folder, as GitHub does."""
    given = {
        "TOOL": "terraform", "FILES": "", "REGION": "", "PARAMETERS": "", "FAIL_ON": "warning",
        "SARIF_FILE": "plimsoll.sarif",
    }  # fmt: skip
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    return subprocess.run(
        ["bash", FOLDER / "lint.sh"],
        cwd=folder,
        env={**os.environ, "PATH": programs, **given, **files, **inputs},
        capture_output=True,
        text=True,
        check=False,
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
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"][
        "uri"
    ]
    assert "a%20b/my%20plan.json" == uri
    assert "sarif-file=plimsoll.sarif\nstatus=1\n" == (tmp_path / "output").read_text()


def test_a_template_with_its_options(tmp_path: Path):
    """Region and parameters reach the check."""
    (tmp_path / "template.yaml").write_bytes(
        (ROOT / "examples/infrastructure/template.yaml").read_bytes()
    )
    result = run(
        tmp_path,
        TOOL="cloudformation",
        FILES="template.yaml",
        REGION="us-east-1",
        PARAMETERS="Iops=12000\n",
    )

    assert 0 == result.returncode
    assert "Nothing found." in result.stdout


@pytest.mark.parametrize("files", ["", "nowhere*.json", "nowhere.json"])
def test_no_file_is_bad_input(files: str, tmp_path: Path):
    """A job that checked nothing must not pass."""
    result = run(tmp_path, FILES=files)

    assert 2 == result.returncode
    assert "::error::" in result.stdout or "no such file" in result.stderr


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
