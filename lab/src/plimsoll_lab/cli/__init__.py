"""The commands of the lab: parse options, call what they need, and print."""
