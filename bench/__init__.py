"""Measurements: each a command that prints what it compares."""
