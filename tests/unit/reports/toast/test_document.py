"""What programs read of a proof and of a sample."""

import json

from plimsoll.reports.toast.json import render_toast_proof_json
from unit.reports.fixture_toast import case, proof, sample


def test_programs_get_every_figure():
    """The JSON holds every case as it was counted."""
    document = json.loads(render_toast_proof_json(proof(case(), sample=(sample(),))))

    assert "plimsoll.toast-proof/1" == document["schema"]
    assert 5 == document["cases"][0]["chunks_dead"]
    assert 90 == document["sample"][0]["resent_same"]
