//! Attempts by files: those of the user, of the machine and of the kernel.

use super::Row;

/// The home folder; its keys and passwords have rows of their own, one for each.
pub(super) const HOME: &[Row] = &[
    ("a letter", "kkko", "grep -q CANARY $HOMEDIR/letters/diary.txt && echo OUT"),
    (
        "a program of the home folder",
        "oooo",
        "[ -x $HOMEDIR/.cargo/bin/tool ] && $HOMEDIR/.cargo/bin/tool",
    ),
    ("the names in the home folder", "kkoo", "ls -A $HOMEDIR | grep -q letters && echo OUT"),
    (
        "a file of another folder by a link",
        "kkko",
        "ln -s $HOMEDIR/letters l; grep -q CANARY l/diary.txt && echo OUT",
    ),
    (
        "a letter above a program",
        "kkko",
        "grep -q CANARY $HOMEDIR/.cargo/bin/../../letters/diary.txt && echo OUT",
    ),
    (
        "a letter by the root of the own process",
        "kkko",
        "grep -q CANARY /proc/self/root$HOMEDIR/letters/diary.txt && echo OUT",
    ),
    (
        "the settings of a toolchain",
        "kkko",
        "grep -q CANARY $HOMEDIR/.cargo/config.toml && echo OUT",
    ),
    (
        "the home of the user space",
        "kkko",
        "cat $HOMEDIR/.ai/config/keys/signing/* 2>/dev/null | grep -q CANARY && echo OUT",
    ),
    (
        "a new file of the home folder",
        "kkko",
        "(echo x > $HOMEDIR/new) 2>/dev/null && echo OUT; rm -f $HOMEDIR/new",
    ),
    (
        "a new program of the home folder",
        "kkko",
        "(echo x > $HOMEDIR/.cargo/bin/new) 2>/dev/null && echo OUT; rm -f $HOMEDIR/.cargo/bin/new",
    ),
    (
        "over a program of the home folder",
        "kkk-",
        "(echo x >> $HOMEDIR/.cargo/bin/tool) 2>/dev/null && echo OUT",
    ),
    (
        "what the shell reads first",
        "kkko",
        "(echo x > $HOMEDIR/.bashrc) 2>/dev/null && echo OUT; rm -f $HOMEDIR/.bashrc",
    ),
    (
        "what begins with the session",
        "kkko",
        "mkdir -p $HOMEDIR/.config/autostart 2>/dev/null && echo OUT; rmdir $HOMEDIR/.config/autostart 2>/dev/null",
    ),
    (
        "a key that opens the machine",
        "kkk-",
        "(echo x > $HOMEDIR/.ssh/authorized_keys) 2>/dev/null && echo OUT",
    ),
];

/// What others have, changed in other ways than by writing.
pub(super) const OUTSIDE: &[Row] = &[
    ("an owner", "kko-", "chown $(id -u) $OUTSIDE/secret.txt 2>/dev/null && echo OUT"),
    ("a time of a folder", "kko-", "touch -c $OUTSIDE 2>/dev/null && echo OUT"),
    ("a mode of a folder", "kko-", "chmod 755 $OUTSIDE 2>/dev/null && echo OUT"),
    ("a mode through a link", "kko-", "chmod 600 out/secret.txt 2>/dev/null && echo OUT"),
    (
        "an attribute",
        "kk--",
        "perl -e '$f = \"$ARGV[0]\\0\"; $n = \"user.rye\\0\"; $v = \"1\"; print \"OUT\" if syscall(188, $f, $n, $v, 1, 0) == 0' $OUTSIDE/secret.txt",
    ),
    ("a flag", "kk--", "chattr +A $OUTSIDE/secret.txt 2>/dev/null && echo OUT"),
    (
        "a file that nothing changes",
        "kkk-",
        "chattr +i $OUTSIDE/secret.txt 2>/dev/null && echo OUT",
    ),
    ("more room", "kkk-", "fallocate -l 100 $OUTSIDE/secret.txt 2>/dev/null && echo OUT"),
    ("a link", "kkk-", "ln -s x $OUTSIDE/link 2>/dev/null && echo OUT"),
    ("a pipe", "kkk-", "mkfifo $OUTSIDE/pipe 2>/dev/null && echo OUT"),
    ("a device", "kkk-", "mknod null c 1 3 2>/dev/null && echo OUT"),
    ("a device for disks", "kkk-", "mknod $TMPDIR/disk b 8 0 2>/dev/null && echo OUT"),
    ("a folder elsewhere", "kkk-", "mv $OUTSIDE $OUTSIDE.2 2>/dev/null && echo OUT"),
    ("a folder away", "kkk-", "rm -rf $OUTSIDE 2>/dev/null && echo OUT"),
    (
        "a file for another",
        "kkk-",
        "echo x > mine; perl -e '$a = \"mine\\0\"; $b = \"$ARGV[0]\\0\"; print \"OUT\" if syscall(316, -100, $a, -100, $b, 2) == 0' $OUTSIDE/secret.txt",
    ),
    (
        "over a file by a new name",
        "kkk-",
        "echo x > mine; mv -f mine $OUTSIDE/secret.txt 2>/dev/null && echo OUT",
    ),
    (
        "a file without a name",
        "kkk-",
        "perl -e 'print \"OUT\" if sysopen(F, $ARGV[0], 0x410002, 0600)' $OUTSIDE",
    ),
    (
        "through an open folder",
        "kkko",
        "exec 3< $OUTSIDE && (echo x > /proc/self/fd/3/new) 2>/dev/null && echo OUT; rm -f $OUTSIDE/new",
    ),
    (
        "through the folder that it is in",
        "kkko",
        "(echo x > /proc/self/cwd/../outside/new) 2>/dev/null && echo OUT; rm -f $OUTSIDE/new",
    ),
    (
        "from a folder that is gone",
        "kkk-",
        "mkdir gone && cd gone && rmdir ../gone && (echo x > ../../outside/new) 2>/dev/null && echo OUT",
    ),
    (
        "through a link that changes",
        "kkk-",
        "(while :; do ln -sfn $OUTSIDE race; ln -sfn src race; done) 2>/dev/null & p=$!; for i in $(seq 100); do (echo x > race/raced) 2>/dev/null; done; kill $p; rm -f src/raced; [ -e $OUTSIDE/raced ] && echo OUT",
    ),
    (
        "through a folder that changes",
        "kkk-",
        "mkdir -p a/in; ln -s $OUTSIDE b; (while :; do mv -T --exchange a b || { mv a c; mv b a; mv c b; }; done) 2>/dev/null & p=$!; for i in $(seq 100); do (echo x > a/raced) 2>/dev/null; done; kill $p; [ -e $OUTSIDE/raced ] && echo OUT",
    ),
    (
        "a key through a link that changes",
        "kkk-",
        "(while :; do ln -sfn $KEY swap; ln -sfn src/a.txt swap; done) 2>/dev/null & p=$!; for i in $(seq 100); do cat swap 2>/dev/null; done | grep -q CANARY && echo OUT; kill $p",
    ),
    ("a lock on a file", "kkk-", "flock -n -x $KEY true 2>/dev/null && echo OUT"),
    (
        "the next program of the machine",
        "kkk-",
        "for f in /etc/ld.so.preload /etc/profile.d/rye.sh /etc/cron.d/rye /var/spool/cron/rye; do (: >> $f) 2>/dev/null && echo OUT && rm -f $f; done",
    ),
    (
        "the passwords of the machine",
        "kkk-",
        "cat /etc/shadow /etc/gshadow /etc/sudoers 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "the keys of the machine",
        "kkk-",
        "cat /etc/ssh/ssh_host_*_key 2>/dev/null | grep -q . && echo OUT; ls /etc/ssl/private/* >/dev/null 2>&1 && cat /etc/ssl/private/* 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "programs of the machine",
        "kkk-",
        "for d in /usr/local/bin /usr/bin /opt /etc; do (: > $d/rye-escape) 2>/dev/null && echo OUT && rm -f $d/rye-escape; done",
    ),
    (
        "the folder for temporary files of others",
        "kkko",
        "(echo x > /var/tmp/rye-$IPC) 2>/dev/null && echo OUT; rm -f /var/tmp/rye-$IPC",
    ),
    (
        "the script of its own call",
        "kkk-",
        "(: >> $TMPDIR/../tool.sh) 2>/dev/null && echo OUT; rm -rf $TMPDIR/../shm 2>/dev/null && echo OUT",
    ),
];

/// The files by which the kernel tells of processes and takes settings.
pub(super) const KERNEL: &[Row] = &[
    (
        "the environment of the process above",
        "kkk-",
        "tr '\\0' '\\n' < /proc/$PPID/environ 2>/dev/null | grep -q CANARY && echo OUT",
    ),
    (
        "the command line of the caller",
        "kkoo",
        "cat /proc/$CALLER/cmdline 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "the memory map of the caller",
        "kkk-",
        "cat /proc/$CALLER/maps 2>/dev/null | grep -q . && echo OUT",
    ),
    ("the folder of the caller", "kkk-", "cd /proc/$CALLER/cwd 2>/dev/null && echo OUT"),
    (
        "the root of the caller",
        "kkk-",
        "ls /proc/$CALLER/root/ 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "the descriptors of the caller",
        "kkoo",
        "ls /proc/$CALLER/fd/ 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "the program of the caller",
        "kkk-",
        "readlink /proc/$CALLER/exe 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "the threads of the caller",
        "kkk-",
        "cat /proc/$CALLER/task/*/environ 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "the calls of the caller",
        "kkk-",
        "cat /proc/$CALLER/syscall /proc/$CALLER/stack 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "the mounts of the caller",
        "kkoo",
        "cat /proc/$CALLER/mountinfo 2>/dev/null | grep -q . && echo OUT",
    ),
    (
        "memory to be spared",
        "kkk-",
        "(echo -1000 > /proc/self/oom_score_adj) 2>/dev/null && echo OUT",
    ),
    (
        "the caller to be ended first",
        "kkk-",
        "(echo 1000 > /proc/$CALLER/oom_score_adj) 2>/dev/null && echo OUT",
    ),
    ("its own users", "kkk-", "(echo '0 0 1' > /proc/self/uid_map) 2>/dev/null && echo OUT"),
    (
        "the keys that ask for help",
        "kkk-",
        "(echo h > /proc/sysrq-trigger) 2>/dev/null && echo OUT",
    ),
    ("the messages of the kernel", "kkk-", "dmesg 2>/dev/null | grep -q . && echo OUT"),
    (
        "the memory of the kernel",
        "kkk-",
        "[ \"$(head -c1 /proc/kcore 2>/dev/null | wc -c)\" = 1 ] && echo OUT",
    ),
    (
        "the router",
        "kkk-",
        "(cat /proc/sys/net/ipv4/ip_forward > /proc/sys/net/ipv4/ip_forward) 2>/dev/null && echo OUT",
    ),
    (
        "the name of the machine as a file",
        "kkk-",
        "(cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname) 2>/dev/null && echo OUT",
    ),
    (
        "promises of memory",
        "kkk-",
        "(cat /proc/sys/vm/overcommit_memory > /proc/sys/vm/overcommit_memory) 2>/dev/null && echo OUT",
    ),
    (
        "what loads modules",
        "kkk-",
        "(cat /proc/sys/kernel/modprobe > /proc/sys/kernel/modprobe) 2>/dev/null && echo OUT",
    ),
    (
        "formats of programs",
        "kkk-",
        "(echo x > /proc/sys/fs/binfmt_misc/register) 2>/dev/null && echo OUT",
    ),
    (
        "the number of processes",
        "kkk-",
        "(cat /proc/sys/kernel/pid_max > /proc/sys/kernel/pid_max) 2>/dev/null && echo OUT",
    ),
    (
        "the number of namespaces",
        "kkk-",
        "(cat /proc/sys/user/max_user_namespaces > /proc/sys/user/max_user_namespaces) 2>/dev/null && echo OUT",
    ),
    (
        "a group of another",
        "kkk-",
        "for f in $(find /sys/fs/cgroup -maxdepth 3 -name cgroup.procs 2>/dev/null); do (echo $$ > $f) 2>/dev/null && echo OUT; done",
    ),
    (
        "a new group",
        "kkk-",
        "for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/rye-escape 2>/dev/null && echo OUT && rmdir $d/rye-escape; done",
    ),
    (
        "what a group calls at its end",
        "kkk-",
        "for f in $(find /sys/fs/cgroup -maxdepth 2 -name release_agent 2>/dev/null); do (cat $f > $f) 2>/dev/null && echo OUT; done",
    ),
    (
        "settings of devices",
        "kkk-",
        "for f in /sys/kernel/uevent_helper /sys/power/state /sys/kernel/profiling $(find /sys/module -maxdepth 3 -path '*parameters*' -type f 2>/dev/null | head -30); do (: >> $f) 2>/dev/null && echo OUT; done",
    ),
    (
        "traces of the kernel",
        "kkk-",
        "for f in /sys/kernel/tracing/trace_marker /sys/kernel/debug/tracing/trace_marker; do (echo x > $f) 2>/dev/null && echo OUT; done",
    ),
    (
        "variables of the firmware",
        "kkk-",
        "for f in $(find /sys/firmware/efi/efivars -type f 2>/dev/null | head -5); do (: >> $f) 2>/dev/null && echo OUT; done",
    ),
    (
        "the terminals of others",
        "kkk-",
        "for t in /dev/tty /dev/console /dev/pts/[0-9]*; do (: >> $t) 2>/dev/null && echo OUT; done",
    ),
    ("a new terminal", "kkk-", "(: <> /dev/ptmx) 2>/dev/null && echo OUT"),
    (
        "a machine in the machine",
        "kkk-",
        "for d in /dev/kvm /dev/vhost-vsock /dev/net/tun /dev/uinput; do (: <> $d) 2>/dev/null && echo OUT; done",
    ),
    (
        "a card that draws",
        "kkk-",
        "for d in /dev/dri/* /dev/nvidia* /dev/fb0 /dev/snd/*; do (: <> $d) 2>/dev/null && echo OUT; done",
    ),
    (
        "a new device",
        "kkk-",
        "mknod /dev/rye c 1 3 2>/dev/null && echo OUT; (: > /dev/rye-file) 2>/dev/null && echo OUT",
    ),
];
