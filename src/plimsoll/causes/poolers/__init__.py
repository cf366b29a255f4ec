"""Which problems of a server come from the pooler in front of it?"""
