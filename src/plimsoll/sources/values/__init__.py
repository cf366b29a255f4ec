"""What does a written value mean: numbers, steps and times; how is it shown in a message?"""
