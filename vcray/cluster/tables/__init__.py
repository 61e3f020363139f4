"""Tables: the columns and cells that `kubectl get` shows, made by the server for every kind.

`render` makes the documents (Table, PartialObjectMetadata and its list), `printers` finds the columns of a kind, `custom`
makes those of a definition; `pods`, `workloads`, `nodes`, `networking`, `storage` and `rules` have the cells of built-in
kinds, `cells` what they share.
"""
