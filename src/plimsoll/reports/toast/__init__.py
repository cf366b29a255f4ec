"""What a server does with large values that are sent again, said."""
