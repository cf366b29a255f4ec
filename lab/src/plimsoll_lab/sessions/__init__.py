"""What happened when a server ran its load behind a gate, and what was the truth?"""
