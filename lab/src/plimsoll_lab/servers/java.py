"""What the servers in Java have in common."""

# Each server's own default is 1 GB or more; this carries what two cores can load it with.
HEAP_MB = 512


def last_error(log: str) -> str:
    """Return the line of a Java program's log that tells most: the last exception or error, else the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["it gave no reason"]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    errors = [line for line in lines if " ERROR " in line or " FATAL " in line or "Exception" in line]
    return (causes or errors or lines)[-1].removeprefix("Caused by: ")
