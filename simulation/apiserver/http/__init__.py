"""What `http_front` needs: the shapes of answers, and the ways to the agents of nodes."""
