"""What differs between two windows, and are they alike enough to say so?"""
