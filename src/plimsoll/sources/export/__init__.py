"""Which samples are in files that people export: CSV, Parquet, JSON, alone or in a folder."""
