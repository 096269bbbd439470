"""When a client that was shed should come back: the policy's hint, spread so that clients do not return together.

    told = min(max(hint, 1 s), 1 h) * (1 + u / 2)
    told to a client that keeps coming back too early = 4 * told

hint  seconds until the rule that shed the request is expected not to hold any more
u     from 0 up to 1, the first 8 bytes of the BLAKE2b hash of the request's id: the same request is told the same

Only upwards: who comes back earlier than the hint is shed again. 1 s is the shortest that `Retry-After` can say.

Source: RFC 9110 and 6585 on Retry-After; that it synchronises clients, and the spread against it, is in the survey of
admission control; DRILLS.md section 4 asks for the hard back-off and leaves its length open, so the factor is ours.
"""

import hashlib

SHORTEST_S = 1.0
LONGEST_S = 3600.0
SPREAD_RATIO = 0.5
HARD_FACTOR = 4.0
# Refused as often as this within one retry window, a client gets the hard back-off answer.
HARD_COUNT = 3


def spread_retry_after_s(hint_s: float, request_id: str) -> float:
    """Seconds that the client of this request is told to wait, to the millisecond that the header can say."""
    digest = hashlib.blake2b(request_id.encode(), digest_size=8).digest()
    draw = int.from_bytes(digest, "big") / 2**64
    return round(min(max(hint_s, SHORTEST_S), LONGEST_S) * (1 + SPREAD_RATIO * draw), 3)
