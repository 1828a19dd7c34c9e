"""Pages of `docs/` that are drawn from the code: one module per page, named for it.

`python -m docs.generators.<page>` writes the page; with `--check` it only says whether the page is out of date.
"""
