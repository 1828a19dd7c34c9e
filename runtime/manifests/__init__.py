"""Static pod manifests: from a directory, from a URL, and from requests that the node keeps.

Open `files.py` for the capability and `local.py` for the disk. `url.py` and `http.py` fetch, `store.py` keeps what was
handed to the node.
"""
