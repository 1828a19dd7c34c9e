"""The names of a kubelet for requests to the node, calls to the API server, and certificates."""

from __future__ import annotations

from runtime.metrics.families import counter, gauge, histogram, in_module

_REST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
_SIZE_BUCKETS = (64, 256, 512, *(1024 * 4**each for each in range(8)))

# --- requests to the node -------------------------------------------------------------------------------------------

HTTP_REQUESTS = counter(
    "kubelet_http_requests_total", "Requests to this node.", "method", "path", "server_type", "long_running"
)
HTTP_IN_FLIGHT = gauge(
    "kubelet_http_inflight_requests", "Requests under way.", "method", "path", "server_type", "long_running"
)
HTTP_DURATION = histogram(
    "kubelet_http_requests_duration_seconds", "Requests to this node.", "method", "path", "server_type", "long_running"
)
WEBSOCKETS = counter(
    "kubelet_websocket_streaming_requests_total", "Sessions that were opened over websockets.", "subresource"
)
_REVIEW_BUCKETS = (0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10)
TOKEN_REVIEWS = counter("apiserver_delegated_authn_request_total", "TokenReviews sent to the API server.", "code")
TOKEN_REVIEW_DURATION = histogram(
    "apiserver_delegated_authn_request_duration_seconds", "Duration of TokenReviews.", "code", buckets=_REVIEW_BUCKETS
)
ACCESS_REVIEWS = counter(
    "apiserver_delegated_authz_request_total", "SubjectAccessReviews sent to the API server.", "code"
)
ACCESS_REVIEW_DURATION = histogram(
    "apiserver_delegated_authz_request_duration_seconds",
    "Duration of SubjectAccessReviews.",
    "code",
    buckets=_REVIEW_BUCKETS,
)
TOKEN_LOOKUPS = counter(
    "authentication_token_cache_request_total",
    "Requests with a token: hit if the token was cached, else miss.",
    "status",
)
TOKEN_LOOKUP_DURATION = histogram(
    "authentication_token_cache_request_duration_seconds", "Duration of checking a token.", "status"
)
TOKEN_FETCHES = counter(
    "authentication_token_cache_fetch_total", "TokenReviews for tokens that were not cached: ok or error.", "status"
)
TOKEN_FETCHES_NOW = gauge(
    "authentication_token_cache_active_fetch_count",
    "TokenReviews in_flight, and requests that are blocked on one.",
    "status",
)
CLIENT_CERTIFICATE_LEFT = histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Remaining validity of the client certificate of a request.",
    buckets=(0, 1_800, 3_600, 7_200, 21_600, 43_200, *(day * 86_400 for day in (1, 2, 4, 7, 30, 90, 180, 360))),
)
CLIENT_CERTIFICATE_TTL = gauge(
    "kubelet_certificate_manager_client_ttl_seconds", "Remaining validity of the client certificate; +Inf without one."
)
SERVER_CERTIFICATE_TTL = gauge(
    "kubelet_certificate_manager_server_ttl_seconds", "Remaining validity of the serving certificate; +Inf without one."
)
CLIENT_RENEWAL_ERRORS = counter(
    "kubelet_certificate_manager_client_expiration_renew_errors", "Failed tries to renew the client certificate."
)
SERVER_RENEWAL_ERRORS = counter(
    "kubelet_server_expiration_renew_errors", "Failed tries to renew the serving certificate."
)
SERVER_CERTIFICATE_AGE = histogram(
    "kubelet_certificate_manager_server_rotation_seconds",
    "Age of a serving certificate when it was replaced.",
    buckets=(60, 3_600, 14_400, *(day * 86_400 for day in (1, 7, 30, 90, 180, 360, 1_440))),
)

# --- calls to the API server ----------------------------------------------------------------------------------------

REST_REQUESTS = counter("rest_client_requests_total", "Calls to the API server.", "code", "host", "method")
REST_DURATION = histogram(
    "rest_client_request_duration_seconds",
    "Duration of calls to the API server, including the wait for the agent's own rate limit.",
    "host",
    "verb",
    buckets=_REST_BUCKETS,
)
REST_WAITED = histogram(
    "rest_client_rate_limiter_duration_seconds",
    "Time that calls to the API server waited for the agent's own rate limit.",
    *("host", "verb"),
    buckets=_REST_BUCKETS,
)
REST_RETRIES = counter(
    "rest_client_request_retries_total", "Calls to the API server that were sent again.", "code", "host", "verb"
)
REST_SENT = histogram(
    "rest_client_request_size_bytes",
    "Sizes of request bodies to the API server.",
    "host",
    "verb",
    buckets=_SIZE_BUCKETS,
)
REST_RECEIVED = histogram(
    "rest_client_response_size_bytes",
    "Sizes of response bodies from the API server.",
    "host",
    "verb",
    buckets=_SIZE_BUCKETS,
)
CREDENTIAL_PLUGIN_TTL = gauge(
    "rest_client_exec_plugin_ttl_seconds",
    "Remaining validity of the certificate of the credential plugin; +Inf without one.",
)
CREDENTIAL_PLUGIN_RUNS = counter(
    "rest_client_exec_plugin_call_total", "Runs of the credential plugin of the kubeconfig.", "call_status", "code"
)

FAMILIES = in_module(globals())
