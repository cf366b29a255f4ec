"""What makes the server write WAL, and how often must it write a checkpoint?"""
