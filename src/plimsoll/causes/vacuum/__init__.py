"""What does vacuum write, what keeps it from its work, and what follows when it cannot?"""
