//! The seccomp filter of programs.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::fault::Fault;
use super::{Enforcement, Plan};

/// Makes system calls fail by which a confined program could reach the network, other programs or the kernel.
///
/// All other calls are allowed. The filter is a second barrier, behind the files and namespaces.
///
/// Where Landlock is too old to confine signals and the shortening of files, the filter refuses them.
pub(super) fn refuse(plan: &Plan, enforcement: Enforcement) -> Result<(), Fault> {
    // A single filter, because the kernel tests each filter on all calls when it is installed.
    let program = [unknown_calls(enforcement), search_tree(rules(plan, enforcement))?].concat();
    apply_filter(&program).map_err(of_filter)
}

/// The most calls that one part of the filter compares in turn.
const COMPARED: usize = 8;

/// Builds a filter that halves the rules by the number of the call until few are left to compare. Few steps lead
/// to an answer.
fn search_tree(mut rules: Rules) -> Result<BpfProgram, Fault> {
    use nix::libc::{BPF_JA, BPF_JGE, BPF_JMP, BPF_K};

    let middle = rules.keys().nth(rules.len() / 2).copied().filter(|_| rules.len() > COMPARED);
    let Some(middle) = middle else { return compile(rules) };
    let high = search_tree(rules.split_off(&middle))?;
    let low = search_tree(rules)?;
    let skipped = u32::try_from(low.len()).expect("because a filter has at most 4,096 steps");
    let beginning = [
        step(LOAD_NUMBER, 0, 0),
        step(BPF_JMP | BPF_JGE | BPF_K, 1, number(middle)),
        step(BPF_JMP | BPF_JA, 0, skipped),
    ];
    Ok([beginning.to_vec(), low, high].concat())
}

/// Loads the number of the call, which is at the start of a filter's input.
const LOAD_NUMBER: u32 = nix::libc::BPF_LD | nix::libc::BPF_W | nix::libc::BPF_ABS;

fn number(call: i64) -> u32 {
    u32::try_from(call).expect("because calls have small numbers")
}

/// Returns one step. A comparison that fails skips `jf` steps.
fn step(code: u32, jf: u8, k: u32) -> sock_filter {
    let code = u16::try_from(code).expect("because each code has 16 bits");
    sock_filter { code, jt: 0, jf, k }
}

/// Converts the error of a filter to a fault. A kernel without seccomp refuses every filter.
fn of_filter(error: seccompiler::Error) -> Fault {
    const ACTION: &str = "install a seccomp filter";
    match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
            Fault::at_call(ACTION)(error)
        }
        error => Fault::new(ACTION, error),
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn compile(rules: Rules) -> Result<BpfProgram, Fault> {
    let target: TargetArch = std::env::consts::ARCH
        .try_into()
        .map_err(|error| Fault::lasting("make a seccomp filter", error))?;
    let action = SeccompAction::Errno(nix::libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, target);
    let compiled = filter.and_then(BpfProgram::try_from);
    compiled.map_err(Fault::at("make a seccomp filter"))
}

/// The calls that are reported as unknown, so that programs fall back to calls that a filter can inspect. The
/// flags of `clone3` are in memory, where a filter cannot read them. `io_uring` opens sockets without a
/// system call.
const UNKNOWN: [i64; 4] = [
    nix::libc::SYS_clone3,
    nix::libc::SYS_io_uring_setup,
    nix::libc::SYS_io_uring_enter,
    nix::libc::SYS_io_uring_register,
];

/// The first number of the x32 interface, which has other numbers for the same calls. No machine needs it,
/// and many kernels lack it.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Returns the start of the filter, for the calls that are reported as unknown. It allows nothing, so that it
/// may come first.
fn unknown_calls(enforcement: Enforcement) -> BpfProgram {
    use nix::libc::{BPF_JEQ, BPF_JMP, BPF_K, BPF_RET, SECCOMP_RET_ERRNO};

    let mut program = vec![step(LOAD_NUMBER, 0, 0)];
    let mut refuse = |jump: u32, number: u32| {
        program.push(step(BPF_JMP | jump | BPF_K, 1, number));
        program.push(step(
            BPF_RET | BPF_K,
            0,
            SECCOMP_RET_ERRNO | nix::libc::ENOSYS.unsigned_abs(),
        ));
    };
    for call in UNKNOWN {
        refuse(BPF_JEQ, number(call));
    }
    if enforcement.filters_truncation() {
        // Its flags are in memory.
        refuse(BPF_JEQ, number(nix::libc::SYS_openat2));
    }
    #[cfg(target_arch = "x86_64")]
    refuse(nix::libc::BPF_JGE, X32);
    program
}

fn rules(plan: &Plan, enforcement: Enforcement) -> Rules {
    let mut rules: Rules = ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    if !plan.mode.is_whole() {
        rules.extend(SHARED.iter().map(|call| (*call, Vec::new())));
        rules.extend(OF_OTHERS.iter().map(|(call, argument)| (*call, vec![is_not(*argument, 0)])));
    }
    for (call, argument, own) in OF_GROUPS {
        rules.entry(*call).or_default().push(is_not(*argument, *own));
    }
    rules.insert(nix::libc::SYS_socket, sockets(plan.network));
    rules.insert(nix::libc::SYS_socketpair, pairs());
    rules.insert(nix::libc::SYS_clone, new_namespaces());
    rules.insert(nix::libc::SYS_ioctl, terminal_input());
    if enforcement.filters_truncation() {
        truncation(&mut rules);
    }
    if enforcement.filters_signals() {
        signals(&mut rules);
    }
    rules
}

/// Adds rules against shortening files that are not open for writing. `truncate` takes a path, and opening a file for
/// reading can shorten it, too.
fn truncation(rules: &mut Rules) {
    rules.insert(nix::libc::SYS_truncate, Vec::new());
    let shorten = nix::libc::O_TRUNC;
    // The last value asks for no access at all.
    let ways = [nix::libc::O_RDONLY, nix::libc::O_ACCMODE];
    let mask = u64::from((shorten | nix::libc::O_ACCMODE).unsigned_abs());
    let opens = |argument| -> Vec<SeccompRule> {
        let matching = ways.map(|way| {
            let value = u64::from((shorten | way).unsigned_abs());
            let operator = SeccompCmpOp::MaskedEq(mask);
            rule(vec![condition(argument, SeccompCmpArgLen::Dword, operator, value)])
        });
        matching.into()
    };
    #[cfg(target_arch = "x86_64")]
    rules.insert(nix::libc::SYS_open, opens(1));
    rules.insert(nix::libc::SYS_openat, opens(2));
}

/// Adds rules against signals to all processes but this one, which becomes the program. The kernel tells no child of
/// the program from the processes of others by a number.
fn signals(rules: &mut Rules) {
    let own = u64::from(std::process::id());
    // The signal 0 only asks whether there is a process.
    let other = |signal: u8| {
        let differs =
            |argument, value| condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value);
        rule(vec![differs(0, own), differs(signal, 0)])
    };
    for (call, signal) in [
        (nix::libc::SYS_kill, 1),
        (nix::libc::SYS_tkill, 1),
        (nix::libc::SYS_tgkill, 2),
        (nix::libc::SYS_rt_sigqueueinfo, 1),
        (nix::libc::SYS_rt_tgsigqueueinfo, 2),
    ] {
        rules.insert(call, vec![other(signal)]);
    }
    rules.insert(nix::libc::SYS_pidfd_send_signal, Vec::new());
    // A file that can be read sends a signal to its owner.
    let owners = [nix::libc::F_SETOWN, SET_OWNER_TYPE, SET_SIGNAL];
    rules.insert(nix::libc::SYS_fcntl, owners.map(|command| is(1, command)).into());
    let requests = rules.entry(nix::libc::SYS_ioctl).or_default();
    requests.extend([SOCKET_OWNER, FILE_OWNER].map(|request| is(1, request)));
}

/// Requests of `fcntl` and `ioctl` that name the process which gets a signal, or the signal (`F_SETOWN_EX`, `F_SETSIG`,
/// `SIOCSPGRP`, `FIOSETOWN`), as in the headers of the kernel.
const SET_OWNER_TYPE: i32 = 15;
const SET_SIGNAL: i32 = 10;
const SOCKET_OWNER: i32 = 0x8902;
const FILE_OWNER: i32 = 0x8901;

/// Returns a rule that matches this value.
fn is(argument: u8, value: i32) -> SeccompRule {
    let value = u64::from(value.unsigned_abs());
    rule(vec![condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)])
}

/// Returns rules against all pairs of sockets but those of streams and of packets in order. A pair of datagrams can be
/// disconnected and used to reach a service by its path.
fn pairs() -> Vec<SeccompRule> {
    let allowed = [nix::libc::SOCK_STREAM, nix::libc::SOCK_SEQPACKET];
    let refused = (0..=KINDS).filter(|kind| !allowed.contains(kind)).map(|kind| {
        let operator = SeccompCmpOp::MaskedEq(u64::from(KINDS.unsigned_abs()));
        let value = u64::from(kind.unsigned_abs());
        rule(vec![condition(1, SeccompCmpArgLen::Dword, operator, value)])
    });
    families(&[nix::libc::AF_UNIX]).into_iter().chain(refused).collect()
}

/// The bits of a socket's type that are its kind. The others are flags.
const KINDS: i32 = 0xf;

/// Returns rules against sockets: against all of them, or against families that reach services of the machine
/// instead of the network.
fn sockets(network: bool) -> Vec<SeccompRule> {
    match network {
        false => Vec::new(),
        true => families(&[nix::libc::AF_INET, nix::libc::AF_INET6, nix::libc::AF_NETLINK]),
    }
}

/// Returns a rule that matches every other family.
fn families(allowed: &[i32]) -> Vec<SeccompRule> {
    let others = allowed.iter().map(|family| {
        condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))
    });
    vec![rule(others.collect())]
}

/// Returns rules that match a `clone` into new namespaces, one for each kind.
fn new_namespaces() -> Vec<SeccompRule> {
    let namespaces = [
        nix::libc::CLONE_NEWUSER,
        nix::libc::CLONE_NEWNS,
        nix::libc::CLONE_NEWPID,
        nix::libc::CLONE_NEWNET,
        nix::libc::CLONE_NEWIPC,
        nix::libc::CLONE_NEWUTS,
        nix::libc::CLONE_NEWCGROUP,
    ];
    let rules = namespaces.map(|flag| {
        let bit = u64::from(flag.unsigned_abs());
        rule(vec![condition(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bit), bit)])
    });
    rules.into()
}

/// Returns a rule that matches every other value.
fn is_not(argument: u8, value: u64) -> SeccompRule {
    rule(vec![condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)])
}

/// Returns rules that match the injection of input into a terminal.
fn terminal_input() -> Vec<SeccompRule> {
    // Compared as 32 bits, as in the kernel.
    [nix::libc::TIOCSTI, nix::libc::TIOCLINUX]
        .map(|request| {
            let request = u64::from(u32::try_from(request).unwrap_or(u32::MAX));
            rule(vec![condition(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)])
        })
        .into()
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> SeccompCondition {
    SeccompCondition::new(argument, length, operator, value)
        .expect("because a call has six arguments and none of these is beyond")
}

fn rule(conditions: Vec<SeccompCondition>) -> SeccompRule {
    SeccompRule::new(conditions).expect("because there is a condition")
}

/// Calls that change another process, with the argument that names it. In a whole sandbox, there is no other
/// process to change.
const OF_OTHERS: &[(i64, u8)] = &[
    (nix::libc::SYS_ioprio_set, 1),
    (nix::libc::SYS_migrate_pages, 0),
    (nix::libc::SYS_move_pages, 0),
    (nix::libc::SYS_prlimit64, 0),
    (nix::libc::SYS_setpriority, 1),
];

/// Calls that change a group of processes, or all processes of a user: the argument that selects the kind of
/// target, and the value for a single process. The launcher may be in the group.
const OF_GROUPS: &[(i64, u8, u64)] =
    &[(nix::libc::SYS_ioprio_set, 0, 1), (nix::libc::SYS_setpriority, 0, 0)];

/// Calls for shared memory, queues and semaphores, which programs find by keys, names or ids. They outlive
/// their programs, and no limit counts them.
const SHARED: &[i64] = &[
    nix::libc::SYS_mq_open,
    nix::libc::SYS_mq_unlink,
    nix::libc::SYS_msgctl,
    nix::libc::SYS_msgget,
    nix::libc::SYS_msgrcv,
    nix::libc::SYS_msgsnd,
    nix::libc::SYS_semctl,
    nix::libc::SYS_semget,
    nix::libc::SYS_semop,
    nix::libc::SYS_semtimedop,
    nix::libc::SYS_shmat,
    nix::libc::SYS_shmctl,
    nix::libc::SYS_shmget,
];

/// Calls that no tool needs.
const ALWAYS: &[i64] = &[
    // Inspection of other programs, and access to their resources.
    nix::libc::SYS_ptrace,
    nix::libc::SYS_process_vm_readv,
    nix::libc::SYS_process_vm_writev,
    nix::libc::SYS_process_madvise,
    nix::libc::SYS_pidfd_getfd,
    nix::libc::SYS_kcmp,
    nix::libc::SYS_perf_event_open,
    // New namespaces and mounts, which could undo the read-only mounts.
    nix::libc::SYS_unshare,
    nix::libc::SYS_setns,
    nix::libc::SYS_mount,
    nix::libc::SYS_umount2,
    nix::libc::SYS_pivot_root,
    nix::libc::SYS_chroot,
    nix::libc::SYS_move_mount,
    nix::libc::SYS_open_tree,
    nix::libc::SYS_fsopen,
    nix::libc::SYS_fsconfig,
    nix::libc::SYS_fsmount,
    nix::libc::SYS_fspick,
    nix::libc::SYS_mount_setattr,
    // Files by their numbers, independent of folders.
    nix::libc::SYS_open_by_handle_at,
    nix::libc::SYS_name_to_handle_at,
    // Keys in the kernel.
    nix::libc::SYS_add_key,
    nix::libc::SYS_keyctl,
    nix::libc::SYS_request_key,
    // Administration of the machine.
    nix::libc::SYS_acct,
    nix::libc::SYS_bpf,
    nix::libc::SYS_delete_module,
    nix::libc::SYS_finit_module,
    nix::libc::SYS_init_module,
    nix::libc::SYS_kexec_file_load,
    nix::libc::SYS_kexec_load,
    nix::libc::SYS_quotactl,
    nix::libc::SYS_reboot,
    nix::libc::SYS_setdomainname,
    nix::libc::SYS_sethostname,
    nix::libc::SYS_settimeofday,
    nix::libc::SYS_clock_settime,
    nix::libc::SYS_clock_adjtime,
    nix::libc::SYS_adjtimex,
    nix::libc::SYS_swapoff,
    nix::libc::SYS_swapon,
    nix::libc::SYS_syslog,
    // Memory that no limit counts.
    #[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64"))]
    nix::libc::SYS_memfd_secret,
    nix::libc::SYS_userfaultfd,
    nix::libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_modify_ldt,
];
