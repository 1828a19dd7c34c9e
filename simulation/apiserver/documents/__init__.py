"""What the server says of itself and shows of objects: discovery, OpenAPI and tables. All of it is pure."""
