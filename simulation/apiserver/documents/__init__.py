"""Documents about the server and its objects: discovery, OpenAPI and tables. Pure."""
