"""Operators of vision that torchvision brings as compiled code, written with pyburn's functions."""
