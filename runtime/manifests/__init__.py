"""Static pod manifests: from a directory, from a URL, and from requests that the node stores.

Open `files.py` for the capability and `local.py` for the disk. `url.py` and `http.py` fetch from a URL; `store.py`
keeps the manifests of requests.
"""
