"""Parts of the simulated world behind a socket: a cluster, a runtime, an API server.

Open `cluster.py`, `cri.py` or `apiserver.py`. `embedded_api.py` starts the API server for other commands too.
"""
