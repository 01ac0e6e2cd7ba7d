"""Training: the Learner, its events and its metrics."""
