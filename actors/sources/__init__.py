"""Where pods come from: files, URLs, the API server, and manifests pushed to the node.

Open `storage.py` first: `StorageActor` merges the sources, owns the desired pods and tells the sync loop what changed.
`static.py`, `url.py`, `push.py` and `api.py` read the sources. `mirror_pods.py` shows static pods in the API.
"""
