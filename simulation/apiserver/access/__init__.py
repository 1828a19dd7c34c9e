"""Who sends a request, and what he may do.

`authentication` knows who; `authorization` decides, with `node_grants` for the agents of nodes.
"""
