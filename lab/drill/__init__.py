"""Plays drills: stack up, schedule, faults in and out, the clean state proven, all of it in the journal.

Knows testbeds, processes, Redis and the proxy from outside. Must not import a service, a policy or the reporter.
"""
