"""What is asked of the stack, worked out before anything runs: arrivals, jobs, and whether it can be done at all.

Pure: chance comes in as numpy generators. Must not know clocks, global random, asyncio, the network or another room.
"""
