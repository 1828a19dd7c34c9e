"""What the node reads of its cluster: ConfigMaps and Secrets, services, RuntimeClasses, tokens.

Open `list_watch.py` first: it is how an actor follows objects of the API. `object_cache.py` holds the ConfigMaps and
Secrets that pods refer to, `cache.py` services and RuntimeClasses, `token.py` the tokens of service accounts.
"""
