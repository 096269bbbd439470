"""Checks a finished run apart from the code that reported it: plain arithmetic over the journals' lines.

Imports nothing of the reporter and none of its libraries, so that one mistake cannot hide in both.
"""
