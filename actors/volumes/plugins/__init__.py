"""Storage drivers of this node: their registration, and the CSINode object that lists them (spec 8.8).

Open `watcher.py` first: `PluginWatcherActor` finds the sockets and registers the drivers. `csi_node.py` writes the
CSINode object; its rules are in `actors/node_object/csi_node.py`.
"""
