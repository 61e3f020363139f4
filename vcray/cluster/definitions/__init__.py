"""CustomResourceDefinitions: what is wrong with one, what it serves, and how it comes and goes.

`validation` with `structural` and `schemas` finds the faults, `versions` reads what is served, `status` accepts names
and keeps conditions, `registrar` does in the store what Kubernetes' four controllers of definitions do.
"""
