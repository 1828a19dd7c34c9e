"""The cgroups of the node and its pods: how they are called, what is written into them, and who writes it."""
