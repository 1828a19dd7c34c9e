"""A plugin of the node at its unix socket: the connection, and what a call can fail with.

Open `socket.py`. Storage drivers use it through `runtime/csi`.
"""
