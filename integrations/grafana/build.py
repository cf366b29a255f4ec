"""
Write the dashboards to dashboards/*.json, as Grafana imports them: `python build.py`.

The files are committed. tests/contract/test_dashboards.py compares them with what is written here.
"""

import json
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from instance import instance

from fleet import fleet

FOLDER = Path(__file__).parent / "dashboards"


def documents() -> dict[str, str]:
    """Return the text of each file by its name."""
    made = {}
    for builder in (fleet(), instance()):
        document = builder.build()
        for number, panel in enumerate(document.panels or [], 1):
            panel.id_val = number
        made[f"{document.uid}.json"] = json.dumps(document, cls=JSONEncoder, indent=2) + "\n"
    return made


if __name__ == "__main__":
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
