"""Tests of torchlike.compat."""
