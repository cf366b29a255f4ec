"""Captures and their comparison as JSON: every node, every counter, every sentence."""

import msgspec

from plimsoll.model.explain import COMPARISON_SCHEMA, CaptureFile, ExplainComparison


def render_captures(file: CaptureFile) -> str:
    """What was recorded as one indented document that ends with a newline."""
    return _document(file)


def render_explain_json(comparison: ExplainComparison) -> str:
    """The comparison as one indented document that ends with a newline."""
    found = msgspec.to_builtins(comparison, str_keys=True)
    return _document({"schema": COMPARISON_SCHEMA, **found})


def _document(what: object) -> str:
    return msgspec.json.format(msgspec.json.encode(what), indent=2).decode() + "\n"
