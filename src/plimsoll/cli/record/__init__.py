"""What does `plimsoll record` read from the command line, and what does it save?"""
