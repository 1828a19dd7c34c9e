"""Why a pod does not run, in words for people. Pure.

One source for `explain`, `up`, the observer and the reports of tests.
"""
