"""Failovers under load: the node that takes writes is killed, cut off or told to hand over."""
