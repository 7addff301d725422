"""Tests of torchlike.random."""
