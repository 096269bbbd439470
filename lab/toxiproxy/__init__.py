"""The embedded proxy: Toxiproxy 2.12.0's HTTP API and toxics in one Python process.

Knows TCP, toxics and Toxiproxy's API. Must not know drills, policies, jobs or any other room but the contract.

    client --> Endpoint --> Link: Stage, Stage, ... --> Endpoint --> server      "upstream"
    client <-- Endpoint <-- Link: Stage, Stage, ... <-- Endpoint <-- server      "downstream"

One toxic of a proxy is one Stage on each of its connections. Without toxics, what is read from one socket is written to
the other at once; a stage whose draw spared the connection passes everything on.

It differs from Toxiproxy on purpose in this, and in nothing else that a client of the API can see:
- attributes that would crash the original or hang it (slicer with average_size below 1, a variation that is not below
  it, a negative rate, a jitter beyond the integers) are refused with 400
- an update that is refused changes nothing; the original keeps what it read before the mistake
- upstream is dialled outside the accept loop, at most DIAL_TIMEOUT_S long
- the seed works: same seed, same order of connections, same draws; a stream of draws per proxy, connection and toxic
- a configuration file that cannot be used is refused, and may hold toxics
- removing a toxic never waits for a reader that is stuck
- request bodies are bounded
- one more route, GET /lab/connections, tells what passed and which toxic touched how many connections
"""

# What GET /version says: the release whose behaviour this room repeats.
COMPATIBLE_VERSION = "2.12.0"
