"""From a snapshot and its ceilings to a diagnosis. Pure: no I/O, no clock, no dice."""
