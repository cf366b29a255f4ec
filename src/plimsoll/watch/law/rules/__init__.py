"""What is wrong now? One file for each rule: a situation in, conditions out."""
