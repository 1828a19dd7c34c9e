"""A plugin of the node at its unix socket: the connection, and the errors of calls.

Open `socket.py`. Storage drivers use it through `runtime/csi`.
"""
