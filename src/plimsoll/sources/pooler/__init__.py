"""What a connection pooler says of itself: PgBouncer's console, Pgpool-II's SHOW commands."""
