"""Greedy pods: for each field of a pod, one pod in which it is as large as the API server accepts.

`fields` walks the schema and names every field that can grow. `templates` are pods with a part that grows. `recipes`
finds a template that the API server accepts, for any field. `pods` makes the pod of a size. Start with `pods`.
"""
