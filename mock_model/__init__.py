"""The mock model: an OpenAI-compatible server whose time, failures and silences are declared or drawn from a seed.

Knows OpenAI's shapes, its slots and its live control. Must not know the queue, the worker, the policies or the drill.
"""
