"""How is a target read, diagnosed, compared and planned for, from a program or a command?"""
