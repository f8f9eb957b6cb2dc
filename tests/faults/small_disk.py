"""A real file system of a few bytes for one process: tmpfs in a mount namespace of its own (Linux)."""

import ctypes
import os
import sys
from pathlib import Path

NEW_MOUNTS, NEW_USERS = 0x00020000, 0x10000000  # flags of unshare(2)
PRIVATE, RECURSIVE = 1 << 18, 1 << 14  # flags of mount(2)


def mount_small_disk(folder: Path, size: int) -> None:
    """Mount an empty file system of ``size`` bytes on a folder, for this process and its children alone.

    Raises:
        OSError: the system does not permit it.
    """
    if sys.platform != "linux":
        raise OSError("mount namespaces need Linux")
    user, group = os.geteuid(), os.getegid()
    _call("unshare", NEW_MOUNTS if user == 0 else NEW_MOUNTS | NEW_USERS)
    if user:
        for name, content in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(content)
    _call("mount", None, b"/", None, PRIVATE | RECURSIVE, None)
    _call("mount", b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={size}".encode())


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
