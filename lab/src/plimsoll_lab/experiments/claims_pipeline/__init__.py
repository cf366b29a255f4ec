"""What makes the incident of the claims pipeline (Pearl Health, 2023) happen, and what ends it?"""
