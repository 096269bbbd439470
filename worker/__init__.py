"""The worker: takes jobs from the stream into its free slots, calls the model, settles each job once.

Knows the stream, the model's OpenAI door and its own slots. Must not know the gate, the policies, the load or faults.

    shedlab:jobs --read, claim--> slot --HTTP--> model
                                   |
                                   +--settle--> job hash, answer channel; the entry leaves the stream
"""
