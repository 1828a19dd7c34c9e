"""Parts of `http_front`: the shapes of answers, and connections to the agents of nodes."""
