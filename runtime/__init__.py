"""Floor 2: what a node can do. One package per capability: a `Protocol`, and its implementation on a real machine.

`cri` speaks with the container runtime, `api` with the API server, `volumes` mounts, `http_server` serves the node's
port. `io` has the event loop that they share. Knows nothing of actors.
"""
