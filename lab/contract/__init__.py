"""What the rooms agree on: scenario, names on the wire, messages, journal.

Knows data and its checks. Must not know any other room, a clock, a socket or a process.
"""
