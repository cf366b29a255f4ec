"""Verbs of the product: read, diagnose, inspect, plan, compare and render, for programs and commands."""
