//! Attempts by calls of the kernel. Each number is that of x86-64.

use super::Row;

/// Families of sockets, and ways to speak to services.
pub(super) const SOCKETS: &[Row] = &[
    ("a raw socket", "kkkc", "perl -e 'print \"OUT\" if socket(S, 2, 3, 1)'"),
    ("a raw socket of IPv6", "kkkc", "perl -e 'print \"OUT\" if socket(S, 10, 3, 58)'"),
    ("a socket for echoes", "kkkc", "perl -e 'print \"OUT\" if socket(S, 2, 2, 1)'"),
    ("datagrams of IPv6", "kkko", "perl -e 'print \"OUT\" if socket(S, 10, 2, 0)'"),
    ("the ciphers of the kernel", "kkk-", "perl -e 'print \"OUT\" if socket(S, 38, 5, 0)'"),
    ("a socket for keys", "kkk-", "perl -e 'print \"OUT\" if socket(S, 15, 3, 2)'"),
    ("a socket for frames", "kkk-", "perl -e 'print \"OUT\" if socket(S, 44, 3, 0)'"),
    ("a radio", "kkk-", "perl -e 'print \"OUT\" if socket(S, 31, 3, 1)'"),
    ("a bus of a vehicle", "kkk-", "perl -e 'print \"OUT\" if socket(S, 29, 3, 1)'"),
    ("a socket for clusters", "kkk-", "perl -e 'print \"OUT\" if socket(S, 30, 5, 0)'"),
    ("a socket for remote calls", "kkk-", "perl -e 'print \"OUT\" if socket(S, 33, 2, 2)'"),
    ("a socket of reliable datagrams", "kkk-", "perl -e 'print \"OUT\" if socket(S, 21, 5, 0)'"),
    ("a socket for shared memory", "kkk-", "perl -e 'print \"OUT\" if socket(S, 43, 1, 0)'"),
    ("a router of processors", "kkk-", "perl -e 'print \"OUT\" if socket(S, 42, 2, 0)'"),
    ("a datagram to a service", "kkko", "perl -e 'print \"OUT\" if socket(S, 1, 2, 0)'"),
    ("packets to a service", "kkko", "perl -e 'print \"OUT\" if socket(S, 1, 5, 0)'"),
    ("a pair of another family", "kkk-", "perl -e 'print \"OUT\" if socketpair(A, B, 30, 1, 0)'"),
    ("events of devices", "kkkc", "perl -e 'print \"OUT\" if socket(S, 16, 3, 15)'"),
    ("the audit of the machine", "kkkc", "perl -e 'print \"OUT\" if socket(S, 16, 3, 9)'"),
    (
        "addresses of a cloud",
        "kkk-",
        "(echo > /dev/tcp/169.254.169.254/80) 2>/dev/null && echo OUT",
    ),
    (
        "a service by its path in `/proc`",
        "kkk-",
        "perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0) and connect(S, sockaddr_un(\"/proc/self/root$ARGV[0]\"))' $OUTSIDE/service.sock",
    ),
    (
        "the container service",
        "kkk-",
        "for s in /run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock /run/podman/podman.sock; do perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0) and connect(S, sockaddr_un($ARGV[0]))' $s; done",
    ),
    (
        "the message bus",
        "kkk-",
        "for s in /run/dbus/system_bus_socket /run/user/$(id -u)/bus; do perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0) and connect(S, sockaddr_un($ARGV[0]))' $s; done",
    ),
    (
        "the display",
        "kkk-",
        "for s in /tmp/.X11-unix/X* /run/user/$(id -u)/wayland-*; do perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0) and connect(S, sockaddr_un($ARGV[0]))' $s; done",
    ),
    (
        "the agents of keys",
        "kkk-",
        "for s in /tmp/ssh-*/agent.* /run/user/$(id -u)/gnupg/S.* /run/user/$(id -u)/keyring/*; do perl -MSocket -e 'print \"OUT\" if socket(S, 1, 1, 0) and connect(S, sockaddr_un($ARGV[0]))' $s; done",
    ),
    (
        "services that the environment names",
        "kkkk",
        "[ -n \"$DBUS_SESSION_BUS_ADDRESS$SSH_AUTH_SOCK$DISPLAY$WAYLAND_DISPLAY$XAUTHORITY$DOCKER_HOST\" ] && echo OUT",
    ),
];

/// Other processes, and memory that is shared with them.
pub(super) const SHARED: &[Row] = &[
    (
        "memory of System V",
        "kkko",
        "perl -e 'print \"OUT\" if defined shmget($ARGV[0], 0, 0)' $IPC",
    ),
    ("a queue of System V", "kkko", "perl -e 'print \"OUT\" if defined msgget($ARGV[0], 0)' $IPC"),
    (
        "semaphores of System V",
        "kkko",
        "perl -e 'print \"OUT\" if defined semget($ARGV[0], 0, 0)' $IPC",
    ),
    (
        "memory of System V by its id",
        "kkko",
        "perl -e 'print \"OUT\" if shmread($ARGV[0], $b, 0, 4)' $SHM; : $IPC",
    ),
    (
        "over memory of System V by its id",
        "kkko",
        "perl -e 'print \"OUT\" if shmwrite($ARGV[0], \"x\", 0, 1)' $SHM; : $IPC",
    ),
    (
        "the state of memory of System V",
        "kkko",
        "perl -e '$b = \"\\0\" x 256; print \"OUT\" if syscall(31, $ARGV[0] + 0, 2, $b) == 0' $SHM; : $IPC",
    ),
    (
        "a message into a queue by its id",
        "kkko",
        "perl -e 'print \"OUT\" if msgsnd($ARGV[0], pack(\"l! a\", 1, \"x\"), 04000)' $MSG; : $IPC",
    ),
    (
        "a message out of a queue by its id",
        "kkko",
        "perl -e '$b = \"\\0\" x 64; print \"OUT\" if syscall(70, $ARGV[0] + 0, $b, 8, 0, 04000) >= 0 or $!{ENOMSG}' $MSG; : $IPC",
    ),
    (
        "the state of a queue",
        "kkko",
        "perl -e '$b = \"\\0\" x 256; print \"OUT\" if syscall(71, $ARGV[0] + 0, 2, $b) == 0' $MSG; : $IPC",
    ),
    (
        "semaphores by their id",
        "kkko",
        "perl -e 'print \"OUT\" if semop($ARGV[0], pack(\"s3\", 0, 1, 0))' $SEM; : $IPC",
    ),
    (
        "semaphores by their id for a while",
        "kkko",
        "perl -e '$o = pack(\"s3\", 0, 1, 0); print \"OUT\" if syscall(220, $ARGV[0] + 0, $o, 1, 0) == 0' $SEM; : $IPC",
    ),
    (
        "the value of a semaphore",
        "kkko",
        "perl -e 'print \"OUT\" if defined semctl($ARGV[0], 0, 12, 0)' $SEM; : $IPC",
    ),
    (
        "the priority of all processes of the user",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(141, 2, 0, 0) == 0'",
    ),
    (
        "the priority of all their disks",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(251, 3, 0, 2 << 13 | 4) == 0'",
    ),
    ("the priority of a group", "kkk-", "perl -e 'print \"OUT\" if syscall(141, 1, 0, 0) == 0'"),
    (
        "a queue by its name",
        "kkko",
        "perl -e '$n = \"rye-$ARGV[0]\\0\"; print \"OUT\" if syscall(240, $n, 0, 0, 0) >= 0' $IPC",
    ),
    ("a file in shared memory", "kkko", "grep -q CANARY /dev/shm/rye-$IPC && echo OUT"),
    (
        "over a file in shared memory",
        "kkko",
        "[ -e /dev/shm/rye-$IPC ] && (printf '' >> /dev/shm/rye-$IPC) 2>/dev/null && echo OUT",
    ),
    (
        "a debugger of a child",
        "kkkc",
        "perl -e '$p = fork; if (!$p) { sleep 5; exit } print \"OUT\" if syscall(101, 16, $p, 0, 0) == 0; kill 9, $p'",
    ),
    (
        "a debugger of the caller",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(101, 0x4206, $ARGV[0] + 0, 0, 0) == 0' $CALLER",
    ),
    (
        "writing into memory",
        "kkkc",
        "perl -e 'syscall(311, $$, 0, 0, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "advice on memory",
        "kkkc",
        "perl -e 'syscall(440, -1, 0, 0, 21, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "comparing processes",
        "kkkc",
        "perl -e 'syscall(312, $$, $$, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a descriptor of another process",
        "kkkc",
        "perl -e '$p = syscall(434, $$, 0); syscall(438, $p, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a signal to the caller by a descriptor",
        "kkko",
        "perl -e '$p = syscall(434, $ARGV[0] + 0, 0); exit if $p < 0; print \"OUT\" if syscall(424, $p, 0, 0, 0) == 0' $CALLER",
    ),
    (
        "a queued signal",
        "kkk-",
        "perl -e '$i = \"\\0\" x 128; print \"OUT\" if syscall(129, $ARGV[0] + 0, 0, $i) == 0' $CALLER",
    ),
    (
        "a signal to a thread",
        "kkko",
        "perl -e 'print \"OUT\" if syscall(234, $ARGV[0] + 0, $ARGV[0] + 0, 0) == 0' $CALLER",
    ),
    (
        "the limits of the caller",
        "kkko",
        "perl -e '$o = \"\\0\" x 16; print \"OUT\" if syscall(302, $ARGV[0] + 0, 7, 0, $o) == 0' $CALLER",
    ),
    (
        "the priority of the caller",
        "kkko",
        "perl -e 'print \"OUT\" if syscall(141, 0, $ARGV[0] + 0, 0) == 0' $CALLER",
    ),
    (
        "the priority of its disk",
        "kkko",
        "perl -e 'print \"OUT\" if syscall(251, 1, $ARGV[0] + 0, 2 << 13 | 4) == 0' $CALLER",
    ),
    (
        "the pages of the caller",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(279, $ARGV[0] + 0, 0, 0, 0, 0, 0) == 0' $CALLER",
    ),
    (
        "the priority of its group",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(141, 1, 0, 5) == 0; print \"OUT\" if syscall(141, 2, 0, 5) == 0'",
    ),
    (
        "the priority of the disk of its group",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(251, 2, 0, 2 << 13 | 4) == 0; print \"OUT\" if syscall(251, 3, $<, 2 << 13 | 4) == 0'",
    ),
    ("a higher priority", "kkk-", "perl -e 'print \"OUT\" if syscall(141, 0, 0, -10) == 0'"),
    (
        "real time",
        "kkk-",
        "perl -e '$p = pack(\"i\", 50); print \"OUT\" if syscall(144, 0, 1, $p) == 0'",
    ),
];

/// The kernel itself.
pub(super) const CALLS: &[Row] = &[
    (
        "a namespace of processes",
        "kkkc",
        "perl -e 'print \"OUT\" if syscall(272, 0x20000000) == 0'",
    ),
    (
        "a namespace of the network",
        "kkkc",
        "perl -e 'print \"OUT\" if syscall(272, 0x40000000) == 0'",
    ),
    ("a namespace of names", "kkkc", "perl -e 'print \"OUT\" if syscall(272, 0x04000000) == 0'"),
    ("a namespace of messages", "kkkc", "perl -e 'print \"OUT\" if syscall(272, 0x08000000) == 0'"),
    ("a namespace of groups", "kkkc", "perl -e 'print \"OUT\" if syscall(272, 0x02000000) == 0'"),
    ("a namespace of time", "kkkc", "perl -e 'print \"OUT\" if syscall(272, 0x80) == 0'"),
    ("two namespaces by the tool", "kkkc", "unshare -Ur true 2>/dev/null && echo OUT"),
    (
        "a process in a new namespace of mounts",
        "kkk-",
        "perl -e '$p = syscall(56, 0x20011, 0, 0, 0, 0); exit if $p == 0; print \"OUT\" if $p > 0'",
    ),
    (
        "a process in a new network",
        "kkk-",
        "perl -e '$p = syscall(56, 0x40000011, 0, 0, 0, 0); exit if $p == 0; print \"OUT\" if $p > 0'",
    ),
    (
        "the namespaces of the caller",
        "kkk-",
        "for n in mnt net pid user; do nsenter -t $CALLER --$n true 2>/dev/null && echo OUT; done",
    ),
    (
        "the newer way to a mount",
        "kkkc",
        "perl -e '$n = \"tmpfs\\0\"; syscall(430, $n, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a mount by parts",
        "kkkc",
        "perl -e 'syscall(432, -1, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a mount in another place",
        "kkkc",
        "perl -e '$n = \"\\0\"; syscall(429, -1, $n, -1, $n, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a mount to change",
        "kkkc",
        "perl -e '$n = \"/\\0\"; syscall(433, -100, $n, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "the flags of a mount",
        "kkkc",
        "perl -e '$n = \"/\\0\"; $a = \"\\0\" x 32; syscall(442, -100, $n, 0, $a, 32); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a mount of itself",
        "kkk-",
        "mount --bind src src 2>/dev/null && echo OUT; mount --bind / src 2>/dev/null && echo OUT",
    ),
    (
        "a disk of a file",
        "kkk-",
        "truncate -s 1M disk; losetup -f disk 2>/dev/null && echo OUT; [ -e /dev/loop-control ] && (: > /dev/loop-control) 2>/dev/null && echo OUT",
    ),
    ("a file system of its own", "kkk-", "(: <> /dev/fuse) 2>/dev/null && echo OUT"),
    (
        "the root exchanged",
        "kkk-",
        "perl -e '$n = \".\\0\"; syscall(155, $n, $n); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "the root by the call",
        "kkkc",
        "perl -e '$n = \".\\0\"; print \"OUT\" if syscall(161, $n) == 0'",
    ),
    (
        "the handle of a file",
        "kkkc",
        "perl -e '$n = \".\\0\"; $h = \"\\0\" x 136; $m = \"\\0\" x 4; syscall(303, -100, $n, $h, $m, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a new key of the kernel",
        "kkk-",
        "perl -e '$t = \"user\\0\"; $d = \"d\\0\"; print \"OUT\" if syscall(248, $t, $d, $d, 1, -3) >= 0'",
    ),
    (
        "a key that is asked for",
        "kkk-",
        "perl -e '$t = \"user\\0\"; $d = \"d\\0\"; syscall(249, $t, $d, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "counters of the processor",
        "kkkc",
        "perl -e '$a = \"\\0\" x 120; syscall(298, $a, 0, -1, -1, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "memory that nobody counts",
        "kkkc",
        "perl -e 'syscall(447, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    ("faults of memory", "kkkc", "perl -e 'syscall(323, 0); print \"OUT\" unless $!{EPERM}'"),
    (
        "segments of the processor",
        "kkkc",
        "perl -e 'syscall(154, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    ("ports of the machine", "kkkc", "perl -e 'syscall(172, 3); print \"OUT\" unless $!{EPERM}'"),
    (
        "a module",
        "kkk-",
        "perl -e '$n = \"\\0\"; syscall(175, $n, 0, $n); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a module of a file",
        "kkk-",
        "perl -e '$n = \"\\0\"; syscall(313, -1, $n, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a module away",
        "kkk-",
        "perl -e '$n = \"none\\0\"; syscall(176, $n, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "another kernel",
        "kkk-",
        "perl -e 'syscall(246, 0, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "another kernel of a file",
        "kkk-",
        "perl -e 'syscall(320, -1, -1, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "an end of the machine",
        "kkk-",
        "perl -e 'syscall(169, 0, 0, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    ("accounts of processes", "kkk-", "perl -e 'syscall(163, 0); print \"OUT\" unless $!{EPERM}'"),
    (
        "memory on another disk",
        "kkk-",
        "perl -e '$n = \"none\\0\"; syscall(167, $n, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    ("quotas", "kkkc", "perl -e 'syscall(179, 0, 0, 0, 0); print \"OUT\" unless $!{EPERM}'"),
    (
        "the log of the kernel",
        "kkkc",
        "perl -e 'syscall(103, 10, 0, 0); print \"OUT\" unless $!{EPERM}'",
    ),
    ("the clock", "kkkc", "perl -e 'syscall(164, 0, 0); print \"OUT\" unless $!{EPERM}'"),
    (
        "the clock by its name",
        "kkkc",
        "perl -e '$t = \"\\0\" x 16; syscall(227, 99, $t); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "the speed of the clock",
        "kkkc",
        "perl -e '$t = \"\\0\" x 208; syscall(159, $t); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "the domain of the machine",
        "kkk-",
        "perl -e '$n = \"x\"; syscall(171, $n, 1); print \"OUT\" unless $!{EPERM}'",
    ),
    ("the end of a terminal", "kkk-", "perl -e 'syscall(153); print \"OUT\" unless $!{EPERM}'"),
    (
        "work of rings",
        "kkkc",
        "perl -e 'syscall(426, 0, 0, 0, 0, 0, 0); print \"OUT\" unless $!{ENOSYS}'",
    ),
    (
        "buffers of rings",
        "kkkc",
        "perl -e 'syscall(427, 0, 0, 0, 0); print \"OUT\" unless $!{ENOSYS}'",
    ),
    (
        "a debugger of the other interface",
        "kkk-",
        "perl -e 'syscall(0x40000000 + 521, 0, 0, 0, 0); print \"OUT\" unless $!{EPERM} or $!{ENOSYS}'",
    ),
    (
        "a mount of the other interface",
        "kkk-",
        "perl -e 'syscall(0x40000000 + 165, 0, 0, 0, 0, 0); print \"OUT\" unless $!{EPERM} or $!{ENOSYS}'",
    ),
    (
        "a socket of the other interface",
        "kkk-",
        "perl -e 'print \"OUT\" if syscall(0x40000000 + 41, 2, 1, 0) >= 0'",
    ),
    (
        "typing on a console",
        "kkkc",
        "perl -e 'ioctl(STDIN, 0x541C, \"x\"); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "typing by a wider number",
        "kkkc",
        "perl -e '$c = \"x\"; syscall(16, 0, 0x100005412, $c); print \"OUT\" unless $!{EPERM}'",
    ),
    (
        "a program in memory",
        "kkko",
        "perl -e '$n = \"x\\0\"; $f = syscall(319, $n, 0); open(M, \">&=$f\"); open(C, \"</bin/cat\"); binmode C; local $/; print M <C>; M->flush; system(\"/proc/$$/fd/$f\", $ARGV[0])' $KEY | grep -q CANARY && echo OUT",
    ),
    ("another user", "kkk-", "perl -e '$o = $<; $> = $o ? 0 : 1; print \"OUT\" if $> != $o'"),
    (
        "another group",
        "kkk-",
        "perl -e '$o = $( + 0; $) = $o ? 0 : 1; print \"OUT\" if $) + 0 != $o'",
    ),
    (
        "a program that changes the user",
        "kkk-",
        "for p in /usr/bin/su /usr/bin/sudo /usr/bin/pkexec; do [ -x $p ] && timeout 5 $p -c true </dev/null >/dev/null 2>&1 && [ $(id -u) != 0 ] && echo OUT; done",
    ),
    (
        "more memory",
        "kkk-",
        "ulimit -v unlimited 2>/dev/null; [ \"$(ulimit -Hv)\" = unlimited ] && echo OUT",
    ),
    (
        "more data",
        "kkk-",
        "ulimit -d unlimited 2>/dev/null; [ \"$(ulimit -Hd)\" = unlimited ] && echo OUT",
    ),
    (
        "more processes",
        "kkk-",
        "ulimit -u unlimited 2>/dev/null; [ \"$(ulimit -Hu)\" = unlimited ] && echo OUT",
    ),
    (
        "longer files",
        "kkk-",
        "ulimit -f unlimited 2>/dev/null; [ \"$(ulimit -Hf)\" = unlimited ] && echo OUT",
    ),
    (
        "its memory on disk after all",
        "kkk-",
        "ulimit -c unlimited 2>/dev/null; [ \"$(ulimit -Hc)\" = 0 ] || echo OUT",
    ),
    (
        "a file without end by its end",
        "kkkk",
        "dd if=/dev/zero of=big bs=1 count=1 seek=5G 2>/dev/null && echo OUT",
    ),
    ("a file without end at once", "kkkk", "fallocate -l 5G big 2>/dev/null && echo OUT"),
    ("a temporary file without end", "kkkk", "truncate -s 5G $TMPDIR/big 2>/dev/null && echo OUT"),
    (
        "memory by its name without end",
        "kkkk",
        "perl -e '$SIG{XFSZ} = \"IGNORE\"; $n = \"x\\0\"; $f = syscall(319, $n, 0); open(M, \">&=$f\"); print \"OUT\" if truncate(M, 5 << 30)'",
    ),
];
