"""Provide the incidents of the plan's benchmark from two generators, in one form."""
