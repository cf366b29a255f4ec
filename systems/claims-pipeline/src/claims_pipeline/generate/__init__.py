"""
Synthetic deliveries: people and claims that nobody has, in CMS's layouts, with known defects.

Rule 1: the same seed gives the same bytes. Everything a person has in a month depends on seed, organisation, person and
        month only, so a later month can repeat or correct what an earlier one delivered without remembering it.
Rule 2: memory is constant. One person's month is made, written and forgotten.
"""
