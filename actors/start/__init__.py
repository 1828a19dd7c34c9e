"""What a container or a sandbox is started with: one file per concern, each a pure step from a pod to CRI messages."""
