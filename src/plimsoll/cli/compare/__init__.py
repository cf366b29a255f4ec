"""What does `plimsoll compare` read from the command line, and what does it print?"""
