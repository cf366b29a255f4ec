"""
Find why a database reads and writes: from an observation to causes, one room for each kind.

Every detector has the same signature: `causes(observation, budget)` returns its findings, the largest first.
It returns nothing if it found nothing or had no data.
"""
