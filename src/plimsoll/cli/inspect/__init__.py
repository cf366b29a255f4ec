"""What does `plimsoll inspect` read from the command line, and what does it print?"""
