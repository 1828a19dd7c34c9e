"""The gates and steps of a pass: one file each, with the part of the worker that owns the concern.

Gates come first: may the pod go on? Then the actions are decided, and each step does its share. A step only returns an
outcome; `actors.pod.sync` acts on it. `actors.pod.parts` has the order.
"""
