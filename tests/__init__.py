"""Tests of torchlike. What torch does is run live where torch is installed, and read from ``golden/`` where it is not."""
