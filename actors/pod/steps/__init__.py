"""What a pass does: one file for each gate or step, with the part of the worker that owns its concern.

Gates come first: may the pod go on? Then it is decided what to do, and each step does its share. A step only returns an
outcome; `actors.pod.sync` acts on it. `actors.pod.parts` has the order.
"""
