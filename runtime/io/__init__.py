"""runtime/io."""
