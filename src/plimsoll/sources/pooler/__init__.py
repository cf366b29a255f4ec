"""What do poolers say: PgBouncer's console, SHOW of Pgpool-II, and their configuration files?"""
