"""The admission policies: what is read of the stack, and what follows for one request. One policy a file.

Knows snapshots, requests and rules, and is pure. Must not know clocks, chance, Redis, HTTP or the gate.
"""
