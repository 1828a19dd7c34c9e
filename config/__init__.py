"""Floor 1: what a node is told. API objects, configuration, manifests; knows nothing of the floors above."""
