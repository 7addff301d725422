"""Files: the archive's layout, atomic writing, mapping, and what is said about files that are no checkpoints."""

import io
import os
import pathlib
import pickle
import stat
import struct
import zipfile

import pytest

import torchlike as tl
from torchlike import serialization

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "checkpoints"


def saved(obj):
    file = io.BytesIO()
    serialization.save(obj, file)
    return file.getvalue()


def starts(data):
    """Name to the position of each record's bytes."""
    found = {}
    for info in zipfile.ZipFile(io.BytesIO(data)).infolist():
        name, extra = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
        found[info.filename] = info.header_offset + 30 + name + extra
    return found


def test_layout_of_the_archive():
    data = saved([tl.ones(3), tl.zeros(2)])
    z = zipfile.ZipFile(io.BytesIO(data))
    assert z.testzip() is None
    assert z.namelist() == [
        "archive/data.pkl",
        "archive/.format_version",
        "archive/.storage_alignment",
        "archive/byteorder",
        "archive/data/0",
        "archive/data/1",
        "archive/version",
        "archive/.data/serialization_id",
    ]
    assert all(info.compress_type == zipfile.ZIP_STORED for info in z.infolist())
    assert z.read("archive/version") == b"3\n" and z.read("archive/byteorder") == b"little"
    identity = z.read("archive/.data/serialization_id")
    assert len(identity) == 40 and identity.isdigit()
    assert all(start % 64 == 0 for start in starts(data).values())
    assert saved([tl.ones(3), tl.zeros(2)]) == data


@pytest.mark.parametrize("name, folder", [("m.pth", "m"), ("a.b.pth", "a.b"), ("noending", "noending")])
def test_the_archives_folder_is_the_files_name(tmp_path, name, folder):
    serialization.save(1, tmp_path / name)
    assert zipfile.ZipFile(tmp_path / name).namelist()[0] == f"{folder}/data.pkl"
    assert serialization.load(str(tmp_path / name)) == 1


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.pth"
    serialization.save([1], path)
    with pytest.raises((AttributeError, pickle.PicklingError, TypeError)):
        serialization.save([tl.ones(2), lambda: 0], path)
    assert serialization.load(path) == [1]
    assert os.listdir(tmp_path) == ["m.pth"]


def test_the_new_file_has_the_old_ones_mode_and_place(tmp_path):
    path, link = tmp_path / "m.pth", tmp_path / "link.pth"
    serialization.save([1], path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    link.symlink_to(path)
    serialization.save([2], link)
    assert link.is_symlink() and serialization.load(path) == [2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_saving_to_a_device():
    serialization.save([tl.ones(2)], os.devnull)


@pytest.mark.parametrize("legacy", [False, True])
def test_an_archive_in_the_middle_of_a_file(tmp_path, legacy):
    path = tmp_path / "two"
    with open(path, "wb") as f:
        f.write(b"HEAD")
        serialization.save({"x": tl.ones(3)}, f, _use_new_zipfile_serialization=not legacy)
        if legacy:
            serialization.save([2], f, _use_new_zipfile_serialization=False)
    with open(path, "rb") as f:
        f.read(4)
        assert serialization.load(f)["x"].tolist() == [1, 1, 1]
        if legacy:
            assert serialization.load(f) == [2]


class OnlyRead:
    """A file object with the least that ``load`` asks for."""

    def __init__(self, data):
        file = io.BytesIO(data)
        self.read, self.readline, self.seek, self.tell = file.read, file.readline, file.seek, file.tell


class OnlyWrite:
    """A file object with the least that ``save`` asks for."""

    def __init__(self):
        self.parts = []

    def write(self, data):
        self.parts.append(bytes(data))
        return len(data)

    def flush(self):
        pass


@pytest.mark.parametrize("name", ["zip.pth", "legacy.pth"])
def test_small_file_objects(name):
    contents = serialization.load(OnlyRead((GOLDEN / name).read_bytes()))
    assert contents["scalar"].item() == 3.5
    out = OnlyWrite()
    serialization.save(tl.ones(3), out)
    assert serialization.load(io.BytesIO(b"".join(out.parts))).tolist() == [1, 1, 1]


def test_mapped_files_are_not_read(tmp_path):
    path = tmp_path / "m.pth"
    serialization.save({"x": tl.arange(1000.0), "y": tl.ones(2)}, path)
    c = serialization.load(path, mmap=True)
    host = c["x"]._host()
    assert not host.flags.writeable and host.ctypes.data % 64 == 0
    assert host.base is not None
    c["x"][0] = 5.0
    assert serialization.load(path)["x"][0].item() == 0
    assert c["x"].tolist() == [5.0, *range(1, 1000)]


def test_mapping_needs_a_path_and_the_zip_format(tmp_path):
    with pytest.raises(ValueError, match="file path"):
        serialization.load(io.BytesIO(saved(1)), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        serialization.load(GOLDEN / "legacy.pth", mmap=True)


def test_archives_packed_again_with_compression(tmp_path):
    source = zipfile.ZipFile(GOLDEN / "zip.pth")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        for name in source.namelist():
            z.writestr(name, source.read(name))
    file.seek(0)
    assert serialization.load(file)["views"]["row"].tolist() == [20, 21, 22, 23]


def test_checksums_can_be_left_out():
    serialization.set_crc32_options(False)
    try:
        data = saved(tl.ones(3))
    finally:
        serialization.set_crc32_options(True)
    assert serialization.load(io.BytesIO(data)).tolist() == [1, 1, 1]
    assert zipfile.ZipFile(io.BytesIO(data)).infolist()[0].CRC == 0


def test_storage_sizes_beyond_the_record():
    data = saved(tl.arange(100.0)).replace(b"Kd", b"Ke", 1)
    with pytest.raises(RuntimeError, match="404 are expected"):
        serialization.load(io.BytesIO(data))


GOOD = (GOLDEN / "zip.pth").read_bytes()
LEGACY = (GOLDEN / "legacy.pth").read_bytes()


@pytest.mark.parametrize(
    "data, error, says",
    [
        (b"", EOFError, "empty"),
        (b"hello world, this is text", pickle.UnpicklingError, "not one that torch.save writes"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), pickle.UnpicklingError, "begins with b.*PNG"),
        (b"\x93NUMPY\x01\x00", pickle.UnpicklingError, None),
        (pickle.dumps({"a": 1}, 2), RuntimeError, "Invalid magic number"),
        (pickle.dumps({"a": 1}, 4), RuntimeError, "Invalid magic number"),
        (GOOD[:10], RuntimeError, "PytorchStreamReader"),
        (GOOD[:100], RuntimeError, "failed finding central directory"),
        (GOOD[:-30], RuntimeError, "failed finding central directory"),
        (GOOD[:-5], RuntimeError, "failed finding central directory"),
        (LEGACY[:100], (pickle.UnpicklingError, EOFError), None),
        (LEGACY[:-1], RuntimeError, "ends before its last storage"),
    ],
)
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_that_are_no_checkpoints(data, error, says, weights_only):
    with pytest.raises(error, match=says):
        serialization.load(io.BytesIO(data), weights_only=weights_only)


def test_zip_files_that_are_no_checkpoints():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("folder/readme.txt", "x")
    with pytest.raises(RuntimeError, match=r"data\.pkl"):
        serialization.load(io.BytesIO(file.getvalue()))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("m/data.pkl", b"\x80\x02N.")
        z.writestr("m/constants.pkl", b"")
    with pytest.raises(RuntimeError, match="TorchScript"):
        serialization.load(io.BytesIO(file.getvalue()))


def test_paths_that_cannot_be_used(tmp_path):
    with pytest.raises(FileNotFoundError):
        serialization.load(tmp_path / "missing.pth")
    with pytest.raises(IsADirectoryError):
        serialization.load(tmp_path)
    with pytest.raises(RuntimeError, match="Parent directory"):
        serialization.save(1, tmp_path / "missing" / "m.pth")
    with pytest.raises(RuntimeError, match="directory"):
        serialization.save(1, tmp_path)
    with pytest.raises(AttributeError, match="'write' attribute"):
        serialization.save(1, 3)
    with pytest.raises(AttributeError, match="seek"):
        serialization.load(3)
