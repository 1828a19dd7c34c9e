"""`actorlet replay`: play a saved failure again, step by step.

Open `command.py` first, then `steps.py`: the commands of the prompt.
"""
