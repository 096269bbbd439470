"""The worker: takes jobs from the stream into its free slots, calls the model, settles each job once.

Knows the stream, the model's OpenAI door and its own slots. Must not know the gate, the policies, the load or faults.

    shedlab:jobs --read, claim--> slot --HTTP--> model
                  (breaker)        |
                                   +--settle--> job hash, answer channel, service sample; the entry leaves the stream
                                                (what is no job goes to shedlab:dead)
"""
