"""Floor 2: what a node can do. CRI, files, host facts; knows nothing of actors."""
