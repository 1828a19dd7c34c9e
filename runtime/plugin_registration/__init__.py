"""Plugins that make themselves known to the agent of their node, at sockets in a directory (spec 8.8)."""
