"""The parts of ``DataLoader``, under the names by which torch's users import them."""
