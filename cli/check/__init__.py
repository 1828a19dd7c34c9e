"""`actorlet check`: manifests validated without a node. Open `command.py`."""
