"""What a node measures of itself, and how Prometheus is told."""
