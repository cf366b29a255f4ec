"""What makes the storm of connections of the pooled cluster (Ashnik, 2021) happen, and what ends it?"""
