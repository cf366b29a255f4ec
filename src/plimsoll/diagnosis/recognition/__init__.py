"""At which level did samples pile up, which ceiling is it, and what proves it?"""
