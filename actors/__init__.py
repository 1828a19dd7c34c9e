"""Floor 3: the decisions. One actor or one set of pure rules per file, in rooms by what they own.

The rooms from the ground up: kernel; model and messages; the pure rules (start, pod_rules, pod_status, node_object);
then the actors by what they own. `node` makes and wires them. `tests/lint/rules/rooms.py` holds the order. To follow a
pod, open `sync/loop.py`, then `pod/worker.py`. Knows nothing of simulated worlds and of the command line.
"""
