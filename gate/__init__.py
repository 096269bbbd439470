"""The admission gate: one HTTP service that decides, in one atomic step with the enqueue, which requests become jobs.

Knows the contract, the policies, HTTP and its one Redis stream. Must not know workers, the model or who sends the load.
"""
