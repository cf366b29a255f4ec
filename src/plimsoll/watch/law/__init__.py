"""Which message follows from what was read? Pure: no clock, no I/O."""
