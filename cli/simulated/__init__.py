"""`actorlet simulated-cri` and `simulated-apiserver`: parts of the simulated world behind a socket.

Open `cri.py` or `apiserver.py`. `embedded_api.py` starts the API server for other commands too.
"""
