"""The Containerfile: what is copied, what is pinned, and who runs it."""

import json
import re

from contract.tree import ROOT

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
# One line for each instruction, without comments.
LINES = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
INSTRUCTIONS = [tuple(line.split(maxsplit=1)) for line in LINES if line]
SENT = {
    line[1:] for line in (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
}


def of(name: str) -> list[str]:
    """The arguments of an instruction, in the order of the file."""
    return [rest for instruction, rest in INSTRUCTIONS if instruction == name]


def test_images_have_a_version_a_digest_and_no_host():
    """A tag can be moved, a digest cannot; one image has one digest. Stages that are named later are no images."""
    stages = [line.split(" AS ") for line in of("FROM")]

    assert len(stages) == 3
    for image, *_ in stages:
        assert re.fullmatch(r"[a-z]+:[\w.]+-slim-bookworm@sha256:[0-9a-f]{64}", image)
    digests = dict(image.split("@") for image, *_ in stages)
    assert {"@".join(pair) for pair in digests.items()} == {image for image, *_ in stages}


def test_what_is_copied_is_sent():
    """Each source is in the repository, and .containerignore lets it pass; nothing else is sent."""
    copied = {name for line in of("COPY") if not line.startswith("--from=") for name in line.split()[:-1]}

    assert copied == SENT
    assert all((ROOT / name).exists() for name in copied)


def test_packages_are_pinned_and_hashed():
    """Only the wheel itself, which was built just before, is installed without a hash."""
    installs = [part for line in of("RUN") for part in line.split("&&") if "pip install" in part]

    assert len(installs) == 3
    for line in installs:
        assert "--require-hashes -r" in line or "--no-index --no-deps /wheels/*.whl" in line


def test_it_runs_as_nobody_in_exec_form():
    """A user by number, so that Kubernetes can tell that it is not root; signals reach the program."""
    assert of("USER") == ["65532:65532"]
    assert json.loads(of("ENTRYPOINT")[0]) == ["plimsoll"]
    assert json.loads(of("CMD")[0]) == ["--help"]
    assert of("VOLUME") == of("WORKDIR")[-1:] == ["/var/lib/plimsoll"]
