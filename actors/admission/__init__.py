"""Which pods a node takes: pure rules over what it is, what it has given away, and what a pod asks for (spec 10.14)."""
