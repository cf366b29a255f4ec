"""The image behind a gate that emulates a block device."""

from pathlib import Path

import pytest

from plimsoll.errors import SourceError
from plimsoll_lab.gate.block import IMAGE, make_image


@pytest.mark.attack(
    "A link is at the path where root creates the image of a gate", "refused, status 2; nothing is written"
)
def test_an_image_that_is_a_link_is_refused(tmp_path: Path):
    """Root would mount and write the target of the link."""
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / IMAGE).symlink_to("precious")
    with pytest.raises(SourceError, match="is a symbolic link"):
        make_image(tmp_path, 1)

    assert b"old" == (tmp_path / "precious").read_bytes()
