"""How a container and a sandbox are configured, one concern per file.

Pure steps from a pod to CRI messages.

Open `cri_configs.py` first: it puts the configuration of a sandbox, and of each container, together from environment,
names, mounts, resources and security. A step that cannot do what the pod asks raises `ContainerRefusedError`, with the
path of the field.
"""
