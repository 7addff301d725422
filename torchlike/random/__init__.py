"""``torch.random``."""
