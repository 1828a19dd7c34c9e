"""What one pod wants of its volumes: gathered, made, ordered, and answered to its worker.

Open `pod_volumes.py` first.
"""
