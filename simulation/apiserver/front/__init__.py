"""The ways into the server.

`http_front` is for any client, `in_process` for the actors of a simulated world.

`negotiation` has the shapes of answers, `node_proxy` and `tunnels` the ways on to the agents of nodes.
"""
