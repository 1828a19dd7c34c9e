"""Storage drivers of this node: the container storage interface, services Identity and Node (spec 8.8)."""
