"""When did requests wait while no ceiling bound, and what may have caused it?"""
