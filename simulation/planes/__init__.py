"""Real programs of Kubernetes for a simulated cluster.

Open `control_plane.py` first: an API server of them. `binaries.py` finds programs in a folder, `arguments.py` has their
command lines, and `programs.py` starts and ends them. `remote.py` asks the server. `mirror.py` is the kit's copy of
what it has, `remote_api.py` the way of agents to it, and `door.py` its way to them.
"""
