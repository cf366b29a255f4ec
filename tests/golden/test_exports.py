"""The exports of the tutorial: made by their script, and each found to be at the limit that it was made with."""

import pytest

from contract.tree import ROOT
from golden.together import script
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import read_target
from plimsoll.model.ceiling import Family

FOLDER = ROOT / "examples" / "exports"
CLAIMS = InstanceOptions(db_class="db.t3.xlarge", engine="postgres", storage="gp2", size_gib=1200)
HOST = InstanceOptions(storage="gp3", size_gib=100)


def test_the_script_writes_the_committed_files():
    """Equal seeds give equal files."""
    made = script("reconstruct_exports").made()

    assert {path.name for path in FOLDER.iterdir()} == {"README.md", *made}
    for name, text in made.items():
        assert text == (FOLDER / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(
    ("name", "options", "family"),
    [
        ("console.csv", CLAIMS, Family.INSTANCE_EBS_THROUGHPUT),
        ("grafana.csv", CLAIMS, Family.INSTANCE_EBS_THROUGHPUT),
        ("iostat.txt", HOST, Family.VOLUME_IOPS),
    ],
)
def test_each_export_shows_its_limit(name: str, options: InstanceOptions, family: Family):
    """Every form gives the same verdict as the metrics that it was made from."""
    diagnosis = diagnose_snapshot(read_target(str(FOLDER / name), options))

    assert diagnosis.binding is not None
    assert family == diagnosis.binding.ceiling.family
