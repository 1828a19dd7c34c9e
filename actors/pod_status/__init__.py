"""Computes the published status of a pod from the observed pod (spec 4.1 to 4.4). Pure.

Open `api_status.py` first: it puts the status together. `conditions.py` and `container_statuses.py` each compute one
part of it. `final.py` is the last status of a pod.
"""
