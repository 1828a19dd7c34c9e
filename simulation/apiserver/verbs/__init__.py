"""The verbs: a module for each, and for subresources of only some resources."""
