"""What could be bought instead: classes and storages that fit, what a change needs, and what each costs."""
