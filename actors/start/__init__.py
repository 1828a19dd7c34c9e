"""How a container and a sandbox are configured, one concern per file. Pure steps from a pod to CRI messages.

Open `container_config.py` first: it puts a container's configuration together from environment, mounts, resources and
security. `sandbox_config.py` does the same for the sandbox. A step that cannot do what the pod asks raises
`StartRefusedError`, with the path of the field.
"""
