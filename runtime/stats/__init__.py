"""Resource usage of a node and its pods, read from the kernel's files and file systems."""
