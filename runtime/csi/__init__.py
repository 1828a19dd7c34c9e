"""Drivers of the container storage interface, spoken to on this node: `csi.v1`, services Identity and Node (spec 8.8)."""
