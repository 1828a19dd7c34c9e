"""Real programs of Kubernetes for a simulated cluster.

Open `binaries.py` first: which programs a folder has. `arguments.py` has their command lines. `programs.py` starts and
ends them.
"""
