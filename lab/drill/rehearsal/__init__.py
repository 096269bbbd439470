"""A rehearsal bench: one live stack, driven by hand. Finds it, drives it, records what was done.

    shedlab up      fault add      policy set      load         watch        rehearsal report
        |               |              |             |            |                 |
     a bench  <---- injectors ---- /admin/policy -- loadgen -- its logs ---> journal.jsonl
                        |
                   faults/<name>.json, and a minder that ends the fault when its maker is gone

Knows benches, their logs and the drill's own injectors; must not know the terminal or how a report is made.
"""


class RehearsalError(Exception):
    """Something that keeps a verb from being carried out; one sentence a line."""
