"""Answers of real torch, recorded for machines where it is not installed."""
