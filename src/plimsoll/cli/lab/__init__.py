"""What does `plimsoll lab` read from the command line, and what does it say of a run?"""
