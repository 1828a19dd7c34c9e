"""`actorlet replay`: a saved failure again, step by step.

Open `command.py` first, then `steps.py`: the words that a person may type.
"""
