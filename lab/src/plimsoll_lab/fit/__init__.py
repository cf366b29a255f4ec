"""Which limits explain the rates that a sweep over request sizes measured?"""
