"""`actorlet rehearse`: play the record of a node with another version, and see what differs."""
