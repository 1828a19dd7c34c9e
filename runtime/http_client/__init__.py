"""The agent's HTTP/1.1 client, for the API server, probes, hooks, manifest URLs, local sockets.

`connection` moves bytes between h11 and one transport, and bounds what a hostile server can cost; `call_bytes` bounds
what containers can. `dialing` opens
connections: TCP, TLS, unix sockets, proxies. `pool` keeps idle connections for the next request. `call` makes the one
GET of a probe or a hook (spec 5, 3.11), on a connection of its own; `request` writes such requests and follows
redirects. Start with `connection`.
"""

from runtime.http_client.call_bytes import HttpError
from runtime.http_client.connection import HttpConnection, HttpResponse
from runtime.http_client.dialing import CannotConnectError, HttpOrigin, dial
from runtime.http_client.pool import HttpPool
