"""The node's HTTP server: listeners, authentication, authorization, and paths.

See spec 11, 17.1 and 17.2.

`listener` speaks HTTP and knows neither users nor pods. `connection` passes upgraded connections on to what serves
them. `gate` authenticates and authorizes. `endpoints` answer. The caller passes in a view of the actors.
"""

from runtime.http_server import quick_import  # before a module of this package imports aiohttp
