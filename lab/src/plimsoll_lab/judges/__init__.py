"""What does Plimsoll say about the phases of an experiment, and is it true?"""
