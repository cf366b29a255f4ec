"""What does `plimsoll plan` read from the command line, and what does it print?"""
