# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The file system of a container: an image made of the host's /usr, and the mounts."""

import os

import kernel

PROFILE = """if [ "$(id -u)" -eq 0 ]; then
  PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
else
  PATH="/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
fi
export PATH
"""
PASSWD = ("root:x:0:0:root:/root:/bin/bash\n"
          "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
          "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n")
GROUP = "root:x:0:\ndaemon:x:1:\nshadow:x:42:\nnogroup:x:65534:\n"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


class MountError(Exception):
    """A mount that the engine could not make."""


def _write(root, path, text, mode=0o644):
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as stream:
        stream.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(target, mode)


def _point(root, target, is_directory):
    """Makes what a mount goes onto, as an engine does, never through a link."""
    path = root
    parts = [part for part in target.split("/") if part]
    for index, part in enumerate(parts):
        path = f"{path}/{part}"
        if os.path.islink(path):
            raise MountError(f"{target}: {part} is a link in the image")
        if index == len(parts) - 1 and not is_directory:
            if not os.path.lexists(path):
                with open(path, "wb"):
                    pass
        elif not os.path.isdir(path):
            os.mkdir(path, 0o755)
    return path


def _etc(root):
    _write(root, "/etc/passwd", PASSWD)
    _write(root, "/etc/group", GROUP)
    _write(root, "/etc/shadow", "root:*:19000:0:99999:7:::\n", 0o000)
    _write(root, "/etc/profile", PROFILE)
    _write(root, "/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
    _write(root, "/etc/resolv.conf", "nameserver 127.0.0.11\n")
    _write(root, "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
    bundle = b""
    for path in ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"):
        if os.path.exists(path):
            with open(path, "rb") as stream:
                bundle = stream.read()
            break
    _write(root, "/etc/openshell-tls/openshell-ca.pem", b"")
    _write(root, "/etc/openshell-tls/ca-bundle.pem", bundle)


def _host_files(root):
    """What the host's own programs need of its /etc."""
    for name in ("alternatives", "ssl", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"):
        source = f"/etc/{name}"
        if os.path.islink(source):
            if not os.path.lexists(root + source):
                os.symlink(os.readlink(source), root + source)
        elif os.path.exists(source):
            kernel.bind(source, _point(root, source, os.path.isdir(source)), True)


def _devices(root):
    kernel.mount("tmpfs", f"{root}/dev", "tmpfs", kernel.NOSUID, "mode=755")
    for name in DEVICES:
        kernel.bind(f"/dev/{name}", _point(root, f"/dev/{name}", False), False)
    os.mkdir(f"{root}/dev/pts")
    os.mkdir(f"{root}/dev/shm", 0o1777)
    os.chmod(f"{root}/dev/shm", 0o1777)
    kernel.mount("devpts", f"{root}/dev/pts", "devpts", kernel.NOSUID | kernel.NOEXEC,
                 "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{root}/dev/ptmx")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{root}/dev/{name}")
    os.symlink("/proc/self/fd", f"{root}/dev/fd")


def _first_time(root, spec):
    """What the image holds; it stays from one start of a container to the next."""
    for name in ("usr", "opt", "run", "srv", "mnt", "media", "sys", "proc", "var", "var/log",
                 "var/lib", "var/cache", "etc", "dev"):
        os.mkdir(f"{root}/{name}")
    for name in ("home", "root"):
        os.mkdir(f"{root}/{name}", 0o700)
    for name in ("tmp", "var/tmp"):
        os.mkdir(f"{root}/{name}")
        os.chmod(f"{root}/{name}", 0o1777)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{root}/{name}")
        elif os.path.isdir(f"/{name}"):
            os.mkdir(f"{root}/{name}")
    _etc(root)
    _write(root, "/opt/openshell/bin/openshell-sandbox", b"", 0o755)
    os.mkdir(f"{root}/sandbox", 0o755)
    os.chown(f"{root}/sandbox", spec["uid"], spec["gid"])
    for path, content in spec.get("image_files", {}).items():
        _write(root, path, content)


def build(spec):
    """Makes the root of the container in the calling process's own mount namespace."""
    kernel.mount(None, "/", None, kernel.REC | kernel.PRIVATE)
    root = spec["directory"] + "/root"
    os.umask(0o022)
    if not os.path.isdir(root):
        os.mkdir(root, 0o755)
        _first_time(root, spec)
    kernel.bind(root, root, False)
    kernel.bind("/usr", f"{root}/usr", True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if not os.path.islink(f"/{name}") and os.path.isdir(f"/{name}"):
            kernel.bind(f"/{name}", f"{root}/{name}", True)
    _host_files(root)
    _devices(root)
    loose = spec.get("loose", {})
    for path in loose.get("under", []):
        kernel.bind(path, _point(root, path, True), False)
    for entry in spec["mounts"]:
        point = _point(root, entry["target"], os.path.isdir(entry["source"]))
        kernel.bind(entry["source"], point, entry["read_only"] and
                    os.path.basename(entry["target"]) not in loose.get("writable", []))
    shadowed = spec.get("shadowed", []) + [entry["target"] for entry in spec["mounts"] if
                                           os.path.basename(entry["target"]) in loose.get("empty", [])]
    for path in shadowed:
        if os.path.isdir(root + path):
            kernel.mount("tmpfs", root + path, "tmpfs", kernel.NOSUID | kernel.NODEV, "mode=755")
    kernel.mount("proc", f"{root}/proc", "proc", kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
    for path, source in loose.get("over", {}).items():
        kernel.bind(source, root + path, False)
    # One of the session's own folders, by its name, gets a file of its own over one that it has.
    for name, path in loose.get("over_file", {}).items():
        for entry in spec["mounts"]:
            if os.path.basename(entry["target"]) == name:
                kernel.bind("/etc/hostname", f"{root}{entry['target']}/{path}", False)
    os.chdir(root)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")
