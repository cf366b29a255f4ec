"""Tests of data after each step: tables against the manifest of a delivery, and views against their tables."""
