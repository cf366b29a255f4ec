"""The nouns: frozen values that travel between the stages. They import nothing but units and errors."""
