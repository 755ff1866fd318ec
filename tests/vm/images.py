"""What the virtual machine boots: Debian's kernel, a tiny initramfs, and three disks.

    base     the part of this machine's system that a session needs, by package; read-only
    tree     the programs under test, the probes and guest.py; read-only, made anew each time
    scratch  an empty ext4 file system for /tmp and /var/tmp

Kernel, initramfs and base are kept in the work directory and made again when they would differ.
Nothing here needs root: without it, the images are made in a user namespace so that the files in
them belong to root.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

KERNEL_PACKAGE = "linux-image-cloud-amd64"

PROGRAMS = "cicada", "cicada-spawn", "cicada-kernel", "cicada-load"

# What the guest runs by name, and what Python code in a session may import. What our programs are
# linked with is asked of them.
BASE_PACKAGES = """
    base-files bash busybox-static coreutils dash libc-bin mount procps python3 util-linux
    fontconfig-config fonts-dejavu-core libopenblas0-pthread libpython3.11 python3-ipython
    python3-matplotlib python3-matplotlib-inline python3-numpy python3-pandas
""".split()

# Made by maintainer scripts, so that no package lists them.
BASE_EXTRA = ["/etc/alternatives", "/etc/ld.so.cache", "/usr/lib/python3", "/usr/lib/python3.11"]

# Listed by packages and of no use in a machine without a reader.
BASE_OMIT = re.compile(r"/usr/share/(doc|man|locale|info|lintian|bug)/|/dist-packages/.*/tests/")

MOUNT_POINTS = "proc sys dev run tmp root home mnt cicada var/tmp".split()

GUEST_PASSWD = "root:x:0:0:root:/root:/bin/sh\ntester:x:1000:1000:tester:/tmp:/bin/sh\n"
GUEST_GROUP = "root:x:0:\ntester:x:1000:\n"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


# ---- kernel and initramfs ----


def kernel(work):
    """The unpacked kernel package: (vmlinuz, its modules directory). Nothing is installed."""
    home = work / "kernel"
    if not list(home.glob("boot/vmlinuz-*")):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        depends = output("apt-cache", "depends", KERNEL_PACKAGE)
        package = re.search(r"Depends: (linux-image-\S+)", depends).group(1)
        apt = subprocess.run(["apt-get", "download", package], cwd=home, timeout=600,
                             capture_output=True, text=True)
        if apt.returncode:
            raise SystemExit(f"tests/vm: cannot download {package} (apt-get update?)\n{apt.stderr}")
        deb = next(home.glob("*.deb"))
        subprocess.run(["dpkg", "-x", deb, home], check=True, timeout=120)
        deb.unlink()
    return next(home.glob("boot/vmlinuz-*")), next(home.glob("lib/modules/*"))


def module_order(modules, wanted):
    """Paths of the modules and of all they depend on, each after what it needs."""
    files = {p.stem.replace("-", "_"): p for p in modules.rglob("*.ko")}
    order = []

    def visit(name):
        if name not in files or files[name] in order:
            return  # built into the kernel, or already there
        depends = re.search(rb"\0depends=([^\0]*)", files[name].read_bytes())
        for need in depends.group(1).decode().split(",") if depends else []:
            visit(need.replace("-", "_"))
        order.append(files[name])

    for name in wanted:
        visit(name)
    return order


def initramfs(work, modules, init):
    tree, image = work / "initramfs", work / "initramfs.cpio"
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("bin", "dev", "proc", "modules", "new"):
        (tree / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin")
    shutil.copy(init, tree / "init")
    (tree / "init").chmod(0o755)
    for i, module in enumerate(module_order(modules, ["virtio_pci", "virtio_blk", "overlay"])):
        shutil.copy(module, tree / "modules" / f"{i:02}-{module.name}")
    names = "\n".join(str(p.relative_to(tree)) for p in sorted(tree.rglob("*")))
    with open(image, "wb") as out:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=tree, input=names.encode(),
                       stdout=out, stderr=subprocess.DEVNULL, check=True, timeout=60)
    return image


# ---- disks ----


def installed():
    """name -> (version, names it depends on) of every installed package, provided names too."""
    form = "${Package}\t${Version}\t${db:Status-Abbrev}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    packages = {}
    for line in output("dpkg-query", "-W", "-f", form).splitlines():
        name, version, status, depends, provides = line.split("\t")
        if not status.startswith("ii"):
            continue
        needs = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", depends)
        packages[name] = (name, version, needs)
        for other in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", provides):
            packages.setdefault(other, (name, version, needs))
    return packages


def closure(names):
    """(name, version) of the packages and of everything they depend on, as installed here."""
    packages, found, todo = installed(), {}, list(names)
    missing = [n for n in names if n not in packages]
    if missing:
        raise SystemExit("tests/vm: these packages are not installed: " + " ".join(missing))
    while todo:
        name, version, needs = packages.get(todo.pop(), (None, None, []))
        if name and name not in found:
            found[name] = version
            todo += needs
    return sorted(found.items())


def base_files(packages):
    listed = output("dpkg-query", "-L", *[name for name, _ in packages]).splitlines()
    files = {"/bin", "/sbin", "/lib", "/lib64"}
    for extra in BASE_EXTRA:
        listed += [extra, *map(str, Path(extra).rglob("*"))]
    for path in listed:
        # With merged /usr a package's /lib/x is the file /usr/lib/x.
        path = re.sub(r"^/(s?bin|lib\w*)/", r"/usr/\1/", path)
        if path.startswith(("/usr/", "/etc/")) and not BASE_OMIT.search(path):
            files.add(path)
    # Links into /etc/alternatives, such as that of the BLAS.
    for directory in ("/usr/bin", "/usr/lib/x86_64-linux-gnu"):
        files.update(e.path for e in os.scandir(directory)
                     if e.is_symlink() and os.readlink(e.path).startswith("/etc/alternatives"))
    return sorted(f for f in files if os.path.lexists(f) and os.access(f, os.R_OK))


def make_ext4(directory, image, spare_mib):
    """An ext4 image of the directory's files, all owned by root."""
    used = int(output("du", "-sm", "--apparent-size", str(directory)).split()[0])
    inodes = sum(len(d) + len(f) for _, d, f in os.walk(directory)) + 5000
    image.unlink(missing_ok=True)
    subprocess.run([*as_root(), "mke2fs", "-q", "-t", "ext4", "-m", "0", "-O", "^has_journal",
                    "-N", str(inodes), "-d", directory, image, f"{used * 5 // 4 + spare_mib}M"],
                   check=True, timeout=600, stdout=subprocess.DEVNULL)


def as_root():
    return [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]


def owners(programs):
    """The packages of the shared libraries that these programs are linked with."""
    found = set()
    linked = subprocess.run(["ldd", *programs], text=True, capture_output=True)  # one of them is static, which ldd calls a failure
    for path in set(re.findall(r"=> (/\S+)", linked.stdout)):
        # With merged /usr dpkg knows a file by the name its package gives it.
        for name in {path, os.path.realpath(path), re.sub("^/usr", "", path), "/usr" + path}:
            asked = subprocess.run(["dpkg-query", "-S", name], text=True, capture_output=True)
            found.update(line.split(":")[0] for line in asked.stdout.splitlines())
    return sorted(found)


def base_disk(work, build):
    image, key_file = work / "base.ext4", work / "base.key"
    packages = closure(BASE_PACKAGES + owners(build / name for name in PROGRAMS))
    key = hashlib.sha256(repr(packages).encode() + Path(__file__).read_bytes()).hexdigest()
    if image.exists() and key_file.exists() and key_file.read_text() == key:
        return image
    key_file.unlink(missing_ok=True)
    stage = work / "base"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    names = "\0".join(f.lstrip("/") for f in base_files(packages)).encode()
    pack = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "--null", "-T", "-", "-cf", "-"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-C", stage, "--no-same-owner", "-xf", "-"],
                              stdin=pack.stdout)
    pack.stdin.write(names)
    pack.stdin.close()
    if pack.wait(600) or unpack.wait(600):
        raise SystemExit("tests/vm: copying the system's files failed")
    for name in MOUNT_POINTS:
        (stage / name).mkdir(parents=True, exist_ok=True)
    (stage / "etc/passwd").write_text(GUEST_PASSWD)
    (stage / "etc/group").write_text(GUEST_GROUP)
    make_ext4(stage, image, 64)
    shutil.rmtree(stage)
    key_file.write_text(key)
    return image


def tree_disk(work, root, build):
    """The programs and the probes, laid out as in the tree."""
    stage, image = work / "tree", work / "tree.ext4"
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "build").mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy(build / name, stage / "build")
    (stage / "build/tests/jails").mkdir(parents=True)
    for name in ("jails", "player"):
        shutil.copy(build / "tests/jails" / name, stage / "build/tests/jails")
    for part in ("tests/vm", "tests/escape", "tests/jails"):
        shutil.copytree(root / part, stage / part, ignore=shutil.ignore_patterns("__pycache__"))
    make_ext4(stage, image, 16)
    shutil.rmtree(stage)
    return image


def scratch_disk(work, size_mib=2048):
    image = work / "scratch.ext4"
    image.unlink(missing_ok=True)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-m", "0", image, f"{size_mib}M"], check=True,
                   timeout=120, stdout=subprocess.DEVNULL)
    return image
