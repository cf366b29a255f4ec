"""Why did one execution of a statement take longer than another?"""
