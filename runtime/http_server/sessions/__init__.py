"""runtime/http_server/sessions."""
