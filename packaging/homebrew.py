"""
Print the Homebrew formula of a release, from its source distribution.

    python3 packaging/homebrew.py dist/plimsoll_db-0.1.0.tar.gz --repository ADDRESS > plimsoll-db.rb

The formula builds the extension with Rust and installs the locked dependencies of requirements/run.txt, which the
source distribution contains, with their hashes. It is for a tap of one's own, not for homebrew-core.
"""

import argparse
import hashlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "python@3.13"
FORMULA = """\
class PlimsollDb < Formula
  desc "{summary}"
  homepage "{repository}"
  url "{repository}/releases/download/v{version}/{file}"
  sha256 "{digest}"
  license "Apache-2.0"

  depends_on "rust" => :build
  depends_on "{python}"

  def install
    system Formula["{python}"].opt_bin/"{program}", "-m", "venv", libexec
    pip = [libexec/"bin/python", "-m", "pip", "install", "--no-cache-dir"]
    system(*pip, "--only-binary", ":all:", "--require-hashes", "-r", "requirements/run.txt")
    system(*pip, "--no-deps", buildpath)
    bin.install_symlink libexec/"bin/plimsoll", libexec/"bin/plimsoll-db"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/plimsoll --version")
    limits = shell_output("#{{bin}}/plimsoll limits db.r5.2xlarge --engine postgres --storage gp3 --size-gib 500")
    assert_match "287.5", limits
  end
end
"""


def formula(sdist: Path, repository: str) -> str:
    """
    Return the formula of a source distribution.

    Args:
        sdist: a file `plimsoll_db-VERSION.tar.gz`.
        repository: address of the repository whose release has the file.

    Raises:
        ValueError: the name of the file has no version.
    """
    named = re.fullmatch(r"plimsoll_db-([\w.]+)\.tar\.gz", sdist.name)
    if named is None:
        raise ValueError(f"'{sdist.name}' is not a source distribution of plimsoll-db")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return FORMULA.format(
        summary=project["description"],
        repository=repository.rstrip("/"),
        version=named[1],
        file=sdist.name,
        digest=hashlib.sha256(sdist.read_bytes()).hexdigest(),
        python=PYTHON,
        program=PYTHON.replace("@", ""),
    )


def main() -> None:
    """Print the formula."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n\n")[0])
    parser.add_argument("sdist", type=Path)
    parser.add_argument("--repository", required=True, help="address of the repository")
    arguments = parser.parse_args()
    try:
        print(formula(arguments.sdist, arguments.repository), end="")
    except (OSError, ValueError) as error:
        print(f"error: {error}\nhint: Build it with 'make wheels'.", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
