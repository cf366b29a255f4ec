"""Read poolers: PgBouncer's console, SHOW of Pgpool-II, and their configuration files."""
