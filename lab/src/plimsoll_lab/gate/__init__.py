"""Emulate the limits of an RDS disk on this machine: mount a gate, control it, and read its record."""
