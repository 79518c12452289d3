//! What `rye verify` costs over ten thousand signed entries, as a whole process, beside what cannot be saved of it.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::{
    fs,
    hint::black_box,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use project::{N_ENTRIES, write_project};
use sha2::{Digest as _, Sha256};

mod project;

const N_RUNS: usize = 25;

fn main() {
    let folder = tempfile::tempdir().expect("because there is a temporary folder");
    let bytes = write_project(folder.path());
    let key = SigningKey::from_bytes(&[7; 32]);
    let bare: Vec<Bare> =
        (0..N_ENTRIES).map(|number| Bare::read(folder.path(), number, &key)).collect();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    println!("{N_ENTRIES} signed entries, {} KiB in all; {processors} processors", bytes / 1024);
    let (mut bare_times, mut whole_times) = (Vec::new(), Vec::new());
    // In turns, so that both meet the same neighbours.
    for _ in 0..N_RUNS {
        bare_times.push(alone(&bare, &key.verifying_key(), processors));
        whole_times.push(verify(folder.path()));
    }
    let bare = project::report("Ed25519 and SHA-256 alone", bare_times);
    let whole = project::report("rye verify, a whole process", whole_times);
    let share = |[bare, whole]: [f64; 2]| 100.0 * bare / whole;
    let [median, best] = [0, 1].map(|column| share([bare, whole].map(|times| times[column])));
    println!("{:<32} median {median:>8.1} %    best {best:>8.1} %", "share of what is possible");
}

/// The cryptography of one entry alone, without finding, reading or reporting it.
struct Bare {
    content: String,
    message: String,
    signature: Signature,
}

impl Bare {
    /// The entry's own content, and a message of the form that its signature is over.
    fn read(folder: &Path, number: usize, key: &SigningKey) -> Self {
        let id = project::id(number);
        let text = fs::read_to_string(folder.join(format!(".ai/knowledge/{id}.md")))
            .expect("because it was written");
        let (_, content) =
            text.split_once('\n').expect("because the signature is a line of its own");
        let digest: String =
            Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        let message = format!("rye-sig-v2\nknowledge\n{id}\n2023-11-14T22:13:20Z\n{digest}");
        let signature = key.sign(message.as_bytes());
        Self { content: content.to_owned(), message, signature }
    }

    fn verify(&self, key: &VerifyingKey) {
        black_box(Sha256::digest(black_box(&self.content)));
        key.verify_strict(black_box(self.message.as_bytes()), &self.signature)
            .expect("because it was signed with this key");
    }
}

/// How long the entries take on all processors with the same crates, and nothing else.
fn alone(bare: &[Bare], key: &VerifyingKey, processors: usize) -> Duration {
    let started = Instant::now();
    thread::scope(|scope| {
        for part in bare.chunks(bare.len().div_ceil(processors)) {
            scope.spawn(move || part.iter().for_each(|entry| entry.verify(key)));
        }
    });
    started.elapsed()
}

fn verify(folder: &Path) -> Duration {
    let (output, elapsed) = project::rye(folder, &["verify"]);
    let verdict = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "every entry verifies");
    assert_eq!(verdict.matches("\nok ").count() + 1, N_ENTRIES, "and each is told");
    elapsed
}
