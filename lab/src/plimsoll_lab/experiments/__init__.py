"""Which published incident happens again on real servers, phase by phase, and what was measured?"""
