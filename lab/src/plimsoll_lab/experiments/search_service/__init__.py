"""What makes the incident of the search service (Salsify, 2021) happen, and what ends it?"""
