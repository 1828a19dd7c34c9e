"""Where pods come from: files, URLs, the API server, and manifests pushed to the node.

Open `storage.py` first: `StorageActor` owns the desired pods and tells the sync loop what changed, by the rules of
`merge.py`. Each other actor reads one source. `mirror_pods.py` shows static pods in the API.
"""
