"""``torch.save`` and ``torch.load``: checkpoints in torch's own formats.

save(obj, f)                                          load(f)
|                                                    |
pickler.py    object -> pickle with torch's names    zipfile_format.py (or legacy.py): records, aligned bytes
|         and numbered storages                      |
zipfile_format.py (or legacy.py): the archive        unpickler.py: a machine that reaches allowlist.py only
|
rebuild.py -> bridge.py: tensors on the storages
"""

from torchlike.serialization.allowlist import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from torchlike.serialization.loading import get_unsafe_globals_in_checkpoint, load
from torchlike.serialization.locations import (
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
)
from torchlike.serialization.options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
)
from torchlike.serialization.saving import DEFAULT_PROTOCOL, save
from torchlike.serialization.storages import StorageType


class SourceChangeWarning(Warning):
    """The source of a class differs from the one saved with the object (never raised: sources are not compared)."""


__all__ = [
    "DEFAULT_PROTOCOL",
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "validate_cuda_device",
]
