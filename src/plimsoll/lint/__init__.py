"""Which settings of a pooler contradict each other, or do not fit its server?"""
