"""A user's own file system that does not answer: FUSE, without a library, in a user and mount namespace of the user's. Starts as root (only root may be
able to run the interpreter) and becomes that user. Prints "no ..." and exits with 77 where users may not do this:

fuse_client.py UID flush FOLDER RUNTIME COUNT     COUNT messages to the daemon, each with a descriptor of a file whose FLUSH is not answered
fuse_client.py UID dirty FOLDER RUNTIME COUNT     the same, of files whose pages are written meanwhile: closing the descriptor waits for their
                                                  WRITE. It prints "sent" before it writes; a line of standard input starts the writes
fuse_client.py UID overlay FOLDER                 an overlay above it, which sends it requests on behalf of any user, root too; prints its path

Prints one line when it is done: "sent N refused M" or the path. It ends when standard input ends; so does its server, so that the kernel gives up the
waiting requests."""
import array
import ctypes
import os
import select
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER, PR_SET_DUMPABLE = 0x20000, 0x10000000, 4
LOOKUP, FORGET, GETATTR, OPEN, WRITE, STATFS, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 16, 17, 25, 26, 36, 42
ENOENT, ENOSYS, WRITEBACK_CACHE = 2, 38, 1 << 16
CTL_STATE = 21


def ok(result, *what):
    if result < 0:
        print("no", *what, os.strerror(ctypes.get_errno()), flush=True)
        sys.exit(77)


def mount(source, target, kind, options):
    ok(libc.mount(source.encode(), target.encode(), kind.encode(), 0, options.encode()), "mount", kind)


def namespaces():
    uid, gid = os.getuid(), os.getgid()
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    ok(libc.unshare(CLONE_NEWNS | CLONE_NEWUSER), "namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as f:
            f.write(text)


def attributes(node, regular):
    mode, size = (0o100666, 1 << 20) if regular else (0o40755, 4096)
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def serve(device, files, silent):
    """Answers all requests except those of `silent`. Standard input is only polled for its end: the client reads it, too."""
    nodes = {}
    wait = select.poll()
    wait.register(device, select.POLLIN)
    wait.register(0, 0)
    while True:
        if dict(wait.poll()).get(0, 0) & select.POLLHUP:
            return
        request = os.read(device, 1 << 20)
        _, kind, unique, node = struct.unpack_from("<IIQQ", request)

        def answer(data=b"", error=0):
            os.write(device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)

        if kind in silent and silent[kind]():
            continue
        if kind == INIT:
            flags = WRITEBACK_CACHE if WRITE in silent else 0
            answer(struct.pack("<IIIIHHIIHHII", 7, 31, 65536, flags, 12, 9, 65536, 1, 16, 0, 0, 0) + bytes(24))
        elif kind == GETATTR:
            answer(struct.pack("<QII", 3600, 0, 0) + attributes(node, node > 1))
        elif kind == LOOKUP and files:
            number = nodes.setdefault(request[40:], len(nodes) + 2)
            answer(struct.pack("<QQQQII", number, 1, 3600, 3600, 0, 0) + attributes(number, True))
        elif kind == LOOKUP:
            answer(error=ENOENT)
        elif kind == OPEN:
            answer(struct.pack("<QII", node, 0, 0))
        elif kind == STATFS:
            answer(struct.pack("<QQQQQIIII", 1 << 20, 1 << 20, 1 << 20, 1000, 1000, 4096, 255, 4096, 0) + bytes(24))
        elif kind not in (FORGET, BATCH_FORGET, INTERRUPT):
            answer(error=ENOSYS)


def fuse(folder, files, silent):
    """Mounts it; the server is a process of its own, which has nothing of it open."""
    device = os.open("/dev/fuse", os.O_RDWR)
    mount("fuse", folder, "fuse", f"fd={device},rootmode=40000,user_id=0,group_id=0")
    if os.fork() == 0:
        os.close(1)
        try:
            serve(device, files, silent)
        finally:
            os._exit(0)
    os.close(device)


def dial(runtime):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.path.join(runtime, "control"))
    return s


def send(to, kind, descriptors):
    """False: the kernel refuses to send descriptors there."""
    try:
        to.sendmsg([struct.pack("<IHHII", 16, kind, 1, 1, 0)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])
    except PermissionError:
        return False
    return True


def files(folder, runtime, count, dirty):
    sent, written = 0, []
    for n in range(count):
        path = os.path.join(folder, f"f{n}")
        fd = os.open(path, os.O_RDWR)
        sent += send(dial(runtime), CTL_STATE, [fd])  # one message a connection, and no hello
        if dirty:  # closed before the writes: their pages are flushed by the daemon's close only
            os.close(fd)
            written.append(os.open(path, os.O_RDWR))
    print("sent", sent, "refused", count - sent, flush=True)
    if dirty and sys.stdin.readline():
        for fd in written:
            os.write(fd, b"x" * 4096)
        print("written", flush=True)


def main(user, kind, folder, runtime=None, count="1"):
    os.setgroups([])
    os.setresgid(int(user), int(user), int(user))
    os.setresuid(int(user), int(user), int(user))
    namespaces()
    if kind == "overlay":
        mount("tmpfs", folder, "tmpfs", "")
        for name in ("fuse", "up", "work", "over"):
            os.mkdir(os.path.join(folder, name))
        marker = os.path.join(folder, "silent")
        fuse(os.path.join(folder, "fuse"), False, {LOOKUP: lambda: os.path.exists(marker)})
        mount("overlay", os.path.join(folder, "over"), "overlay",
              ",".join(f"{option}={os.path.join(folder, name)}" for option, name in (("lowerdir", "fuse"), ("upperdir", "up"), ("workdir", "work"))) + ",userxattr")
        open(marker, "w").close()
        print(f"/proc/{os.getpid()}/root{folder}/over", flush=True)
    else:
        fuse(folder, True, {FLUSH: lambda: True} if kind == "flush" else {WRITE: lambda: True})
        files(folder, runtime, int(count), kind == "dirty")
    sys.stdin.read()


main(*sys.argv[1:])
