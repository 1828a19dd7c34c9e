"""runtime/http_server/auth."""
