"""torch.utils: data loading, checkpointing and tools."""
