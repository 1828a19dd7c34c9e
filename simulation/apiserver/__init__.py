"""The embedded API server: in memory, on its own clock, for one node or thousands.

It answers over HTTP or without it. A request goes down through its rooms, and an answer up:

- `front` has the ways in: HTTP, tunnels to nodes, and calls within the process; `server` is where all requests meet;
- `controllers` change objects by themselves;
- `verbs` carry out one request each, and `pipeline` is the way of every write, one file a stage;
- `admission` has the plugins, `strategies` what is special about a kind, `access` who may do what;
- `requests` has what is asked and answered, `store` the objects, `documents` discovery, OpenAPI and tables;
- `kinds` is the table of kinds, `schemas` describes their objects, and `status` has the words of refusals.

Imports between rooms go down this list (`tests/lint/rules/rooms.py`).
"""
