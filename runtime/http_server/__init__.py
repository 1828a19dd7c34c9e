"""The node's own HTTP server: who listens, who asks, whether he may, and what there is (spec 11, 17.1, 17.2).

`listener` speaks HTTP and knows neither users nor pods; `connection` lets connections that are to be upgraded through
to whoever serves them; `gate` asks who it is and whether he may; `endpoints` answer. What the actors know is handed in.
"""
