"""Points of many instances in one file: tables, range exports of Prometheus, and tables of descriptions."""
