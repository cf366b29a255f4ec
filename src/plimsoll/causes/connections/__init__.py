"""What do connections do, and which sessions wait for locks?"""
