"""Plugins that register with the agent through sockets in a directory (spec 8.8)."""
