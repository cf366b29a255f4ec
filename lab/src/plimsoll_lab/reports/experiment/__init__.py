"""What happened in the phases of an experiment, and what Plimsoll said about it?"""
