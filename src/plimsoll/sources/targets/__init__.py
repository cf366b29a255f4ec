"""Read a target of the command line into one snapshot or several, whatever its form."""
