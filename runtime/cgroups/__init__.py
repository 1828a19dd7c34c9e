"""The cgroups of the node and its pods: their names, their limits, and the drivers that write them."""
