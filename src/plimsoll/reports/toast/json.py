"""
A proof of rewritten values as JSON: the form `plimsoll.toast-proof/1`, described in
docs/reference/toast-proof-json.md.

Rule: every field is always there; what is not known is null. No value of the user's is in it.
"""

from typing import Literal

from plimsoll.model.toast import ToastProof
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_text


class ToastProofDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll proof of rewritten values.

    What `plimsoll prove toast --format json` writes. Every field is always present; null means not
    known or does not apply. Bytes and seconds, unrounded.
    """

    schema: Literal["plimsoll.toast-proof/1"] = "plimsoll.toast-proof/1"
    """Name and version of this form."""
    proof: Inline[ToastProof]


def render_toast_proof_json(proof: ToastProof) -> str:
    """Return the proof as JSON."""
    return json_text(ToastProofDocument(proof=proof))
