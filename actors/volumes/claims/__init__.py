"""Resolves persistent volume claims through the API, for one pod at a time (spec 8.3).

Open `claims.py` first: `ClaimsActor` has one `ClaimResolverActor` (`resolver.py`) per pod that has claims. `rules.py`
decides from claim and volume what is mounted. `csi_rules.py` decides what a storage driver gets.
"""
