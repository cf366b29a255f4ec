"""What does `plimsoll gate` read from the command line, and what does it say of a gate?"""
