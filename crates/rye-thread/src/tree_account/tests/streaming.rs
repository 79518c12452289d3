//! The memory that the fold of a large tree takes.

use std::fs;

use super::*;

const CHILDREN: u64 = 1_000;
const TEXT_BYTES: usize = 100_000;
/// A third of the texts of all children, in KiB.
const MOST: u64 = CHILDREN * 100 / 3;

/// Returns the most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Returns the transcript of a child with a long text and a request in flight. It is made when it is read.
fn talkative(thread: &ThreadId, key: &Arc<SigningKey>) -> FoundTranscript<'static> {
    let store = Arc::new(MemoryStore::new());
    let record = ThreadRecord::new(thread, "a", &limits(at_most(1)), AT);
    let mut journal = Journal::in_memory(record, Arc::clone(key), Arc::clone(&store) as _).unwrap();
    let provider = ProviderInfo::new("p", "m", 1_000, 100);
    let start = journal.start(&provider, limits(at_most(1)), Vec::new(), BTreeMap::new());
    journal.append(&start, AT);
    journal.checkpoint(AT);
    journal.append(&Event::UserMessage(Said { text: "x".repeat(TEXT_BYTES) }), AT);
    let reserved = Nanos::new(1);
    journal.append(&Event::StepStart(StepStart { turn: 1, reserved, max_output_tokens: 1 }), AT);
    journal.sync().unwrap();
    let reading = read(&store.journal(thread).unwrap(), thread, &[key.public()]).unwrap();
    FoundTranscript::Transcript(Cow::Owned(reading))
}

/// The variable of the process that runs this test alone.
const ALONE: &str = "RYE_FOLD_ALONE";

/// The peak is that of a process, so a process of its own measures it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test starts itself")]
fn rule_21_the_fold_of_a_tree_keeps_no_texts() {
    if std::env::var_os(ALONE).is_some() {
        return fold_a_large_tree();
    }
    let name = "tree_account::tests::streaming::rule_21_the_fold_of_a_tree_keeps_no_texts";
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{output:?}");
}

fn fold_a_large_tree() {
    let mut forest = Forest::new(SpendLimit::Unlimited);
    for child in 1..=CHILDREN {
        let child = id(usize::try_from(child).unwrap());
        let spawn = Spawn::new("1", child, "a", Waiting::ForNothing, limits(at_most(1)));
        forest.record(0, &Event::SpawnChild(spawn));
    }
    let reading = forest.reading(&id(0));
    let key = Arc::clone(&forest.key);
    drop(talkative(&id(1), &key));
    let before = peak();
    let account = Account::from_transcripts(&reading, &|child| talkative(child, &key)).unwrap();
    assert_eq!(account.reserved.get(), CHILDREN, "each child was read");
    let grown = peak() - before;
    assert!(grown < MOST, "{grown} KiB for texts of {} KiB", CHILDREN * 100);
}
