"""Which trouble of a server comes from the pooler in front of it?"""
