"""The JSON Schemas of the reports of the lab."""
