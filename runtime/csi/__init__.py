"""Storage drivers of this node: the CSI services Identity and Node (spec 8.8)."""
