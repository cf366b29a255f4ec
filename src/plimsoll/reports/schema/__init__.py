"""The JSON Schemas of the reports, generated from the Structs of their forms."""
