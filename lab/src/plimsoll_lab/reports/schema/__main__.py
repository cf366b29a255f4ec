"""
Write the schema and the reference page of every JSON report of the lab: `python -m plimsoll_lab.reports.schema`.

Run it at the root of the repository after a form has changed.
"""

from pathlib import Path

from plimsoll.reports.schema.__main__ import write
from plimsoll_lab.reports.schema.forms import lab_schemas

write(lab_schemas(), Path(__file__).parent)
