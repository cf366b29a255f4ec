"""What does Plimsoll say about the phases of the pooled cluster's incident, and is it true?"""
