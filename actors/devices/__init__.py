"""Device plugins of this node (spec 10.11), each with an actor of its own.

They hang, lie and come back. Open `plugin.py`: the actor of one plugin. `registrar.py` lets plugins register. Which
devices a pod gets is decided in `actors/resources/devices`, without them.
"""
