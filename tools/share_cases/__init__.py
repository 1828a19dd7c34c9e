"""Compares the shares of pods with those that a kubelet's own policies give.

`python -m tools.share_cases JUDGE` makes random cases, and asks the judge and `actors.resources.shares`. The judge is a
program outside this repository, built of a kubelet's policies: it reads a case as a line of JSON and answers with a
line. `cases.py` makes the cases, `ours.py` answers them, `comparing.py` names the differences, and `kept.py` reads and
writes files of cases with the judge's answers.
"""
