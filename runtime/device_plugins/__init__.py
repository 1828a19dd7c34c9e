"""Device plugins of this node: who offers devices of one resource to containers (spec 10.11).

Open `capability.py`: what a plugin is asked, and what it says. `client.py` asks the one at a socket, `local.py` lets
plugins register, and `wire.py` knows the messages.
"""
