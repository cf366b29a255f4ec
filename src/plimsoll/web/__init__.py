"""What does the page of `plimsoll watch` show?"""
