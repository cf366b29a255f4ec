"""What does `plimsoll diagnose` read from the command line, and what does it print?"""
