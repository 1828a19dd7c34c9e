"""The node's own HTTP server: who listens, who asks, who may, and which paths exist.

See spec 11, 17.1 and 17.2.

`listener` speaks HTTP and knows neither users nor pods. `connection` passes upgraded connections on to whoever serves
them. `gate` authenticates and authorizes. `endpoints` answer. What the actors know is handed in.
"""
