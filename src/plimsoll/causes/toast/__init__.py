"""Are large values written again that did not change, and what does that cost?"""
