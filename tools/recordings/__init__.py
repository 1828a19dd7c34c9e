"""Records what a real kube-apiserver answers: `python -m tools.recordings FOLDER`.

FOLDER holds `etcd` and `kube-apiserver`. The recorded pairs of requests and answers are data of the tests, which replay
them on the embedded API server. `corpus.py` makes the requests, `player.py` sends them; open `__main__.py` first.
"""
