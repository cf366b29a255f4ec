"""Read query plans: recorded on a server, from files, and from logs."""
