"""What do connections do, and who waits for whom?"""
