"""The reconciliation protocol, version 0.2 (https://reconciliation-api.github.io/specs/0.2/), without its HTTP.

A row of a spreadsheet is matched with an entity, and gets columns of what is known or likely of it, as in OpenRefine.
"""
