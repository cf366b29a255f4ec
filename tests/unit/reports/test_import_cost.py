"""What the report for terminals may load; the first command must come up within a second."""

import subprocess
import sys

HEAVY = ("altair", "jinja2", "jsonschema", "plotext", "polars", "psycopg", "pyarrow", "vl_convert")


def test_text_and_json_load_nothing_heavy():
    """Rendering text, JSON and Markdown imports none of the libraries for pages, tables and pictures."""
    program = (
        "import sys\n"
        "import plimsoll.reports.diagnosis.document, plimsoll.reports.diagnosis.json, plimsoll.reports.files.file\n"
        "import plimsoll.reports.document.text, plimsoll.reports.document.markdown, plimsoll.reports.document.page\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]" == loaded.stdout.strip()
