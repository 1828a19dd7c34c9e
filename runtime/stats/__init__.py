"""What a node and its pods use, read from the kernel's files and file systems."""
