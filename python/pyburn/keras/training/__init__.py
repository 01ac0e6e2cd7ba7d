"""What `compile`, `fit`, `evaluate` and `predict` do, on top of `pyburn.train`."""
