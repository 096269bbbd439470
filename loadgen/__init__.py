"""Plays one schedule against the gate, open loop. Knows the contract and Locust; must not know policies or queue."""
