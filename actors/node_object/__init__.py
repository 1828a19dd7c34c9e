"""The rules of the Node object and its Lease (spec 9), pure: what to write, out of what is and what was."""
