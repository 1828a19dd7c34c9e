"""Logs of containers on disk: lines, files, rotation, and the directories of pods.

Open `reader.py` first: it reads one container's log for `kubectl logs`. `files.py` rotates logs, `pod_logs.py` makes
the directories and links, and `pod_files.py` reads termination messages.
"""
