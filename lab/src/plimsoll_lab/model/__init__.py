"""The nouns of the lab: frozen values. They import nothing but those of Plimsoll."""
