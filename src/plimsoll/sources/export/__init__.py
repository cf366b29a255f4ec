"""Read exported files: CSV, Parquet and JSON, alone or in a folder."""
