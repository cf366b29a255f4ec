"""Will a database that is declared in a file meet a limit that makes a part of it useless?"""
