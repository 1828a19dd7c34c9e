"""The embedded API server: in memory, on its own clock, for one node or thousands.

It answers over HTTP or without it.

`server.ApiServer` answers requests as a Kubernetes API server would. `in_process` connects the actors of a simulated
world to it; `http_front` serves kubectl and other HTTP clients. `resources` is the table of kinds, and `verbs/` carries
requests out. `kinds/` and `custom/` have the rules of objects, and `store` keeps them.
"""
