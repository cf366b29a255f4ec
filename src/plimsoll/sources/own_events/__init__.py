"""Which events of one's own, such as runs of a job or deploys, took place, and when?"""
