"""The embedded API server: in memory, on its own clock, for one node or thousands, over HTTP or without it.

`server.ApiServer` answers requests as a Kubernetes API server would; `in_process` puts it in front of the actors of a
simulated world, `http_front` in front of anything that speaks HTTP, kubectl included.
"""
