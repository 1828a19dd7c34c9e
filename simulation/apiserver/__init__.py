"""The embedded API server: in memory, on its own clock, for one node or thousands, over HTTP or without it.

`server.ApiServer` answers requests as a Kubernetes API server would; `in_process` puts it in front of the actors of a
simulated world, `http_front` in front of kubectl and anything else that speaks HTTP. `resources` is the table of kinds,
`verbs/` carries requests out, `kinds/` and `custom/` have the rules of objects, `store` keeps them.
"""
