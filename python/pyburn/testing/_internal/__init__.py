"""torch.testing._internal: the base class of torch's own tests, which other projects' tests borrow."""
