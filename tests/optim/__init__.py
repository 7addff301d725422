"""Tests of torchlike.optim."""
