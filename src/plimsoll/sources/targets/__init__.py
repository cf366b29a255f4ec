"""What does the command line point at: one snapshot or many, whatever they are kept in?"""
