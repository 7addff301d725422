"""Tests of torchlike.utils."""
