"""
Observation in, causes out: one room for each kind of reason that a database has to read and write.

Every detector has the same shape: `causes(observation, budget)` returns what it found, the largest
first, and nothing where it found nothing or could not look.
"""
