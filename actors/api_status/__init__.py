"""What leaves the node as the status of a pod in the API: what to write, how urgent it is, and when it may wait."""
