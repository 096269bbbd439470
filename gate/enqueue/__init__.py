"""The way past the gate: a second HTTP service that makes a job of every sound request, and decides nothing.

It must work when the gate's decision code is broken, so it imports neither that code nor the policies; a test holds it.
It shares with the gate what has nothing to decide: reading a body, refusing in error, one job's answer.

    POST /v1/jobs   as the gate takes it; 202, or refused in error
    GET /v1/jobs/ID, GET /health

Knows the contract, HTTP and the one stream. Must not know policies, signals or who routes requests here.
"""
