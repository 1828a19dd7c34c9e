"""Floor 2: the capabilities of a node.

One package per capability: a `Protocol`, and its implementation on a real machine.

`cri` is the client of the container runtime, `api` the client of the API server. `volumes` mounts, and `http_server`
serves the node's port. `io` has the event loop that they share. No module here imports actors.
"""
