"""Logs of containers on disk: lines, files, rotation, and the directories of pods.

Open `reader.py` first: it reads one container's log for `kubectl logs`. `files.py` is what rotation does, `pod_logs.py`
the directories and links, `pod_files.py` termination messages.
"""
