"""An operator under test: its process, and the door between it and the API server.

Open `door.py` first: it counts the requests of one identity by name, and lets one fault strike at one of them.

- `keys` has the names of requests, events and pods, `faults` the table of what can go wrong at each;
- `process` runs the operator as a Deployment would, `watch_gate` stands in its watches;
- `lag` serves reads from an older version, `called` reads requests, `records` is what was seen.
"""
