"""Exec, attach and port-forward through the node's server (spec 11.3).

Open `sessions.py` first. `spdy.py` is the protocol of runtimes, `websocket.py` that of newer clients.
"""
