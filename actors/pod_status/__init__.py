"""What is published of a pod, computed from what is observed (spec 4.1 to 4.4). Pure; start at `api_status`."""
