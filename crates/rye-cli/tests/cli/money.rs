//! What threads have spent, read from the JSON of their transcripts without the library.

use serde_json::Value;

/// What the records of one thread say about its own requests and the shares of its children.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Money {
    /// What requests cost that a record ends.
    pub(crate) settled: u64,
    /// The reservation of the last request, while no record ends it.
    pub(crate) reserved: u64,
    /// The children without an end, each with its share.
    pub(crate) shares: Vec<(String, u64)>,
    /// What the other children cost.
    pub(crate) children: u64,
}

impl Money {
    pub(crate) fn of(records: &[Value]) -> Self {
        let mut money = Self::default();
        for record in records {
            let payload = &record["payload"];
            let amount = |name: &str| payload[name].as_u64().unwrap_or_default();
            match record["event"].as_str().unwrap() {
                "step_start" => {
                    money.settled += money.reserved;
                    money.reserved = amount("reserved_nanos");
                }
                "step_finish" | "request_failed" | "request_retried" => {
                    money.settled += amount("cost_nanos");
                    money.reserved = amount("reserved_nanos");
                }
                "spawn_child" => {
                    let share = payload["limits"]["spend_nanos"]["at_most"].as_u64();
                    let child = payload["thread"].as_str().unwrap().to_owned();
                    money.shares.push((child, share.unwrap_or_default()));
                }
                "child_ended" => {
                    money.shares.retain(|(child, _)| payload["thread"] != child.as_str());
                    money.children += amount("cost_nanos");
                }
                _ => {}
            }
        }
        money
    }

    /// All that the thread takes of its limit.
    pub(crate) fn taken(&self) -> u64 {
        let shares: u64 = self.shares.iter().map(|(_, share)| share).sum();
        self.settled + self.reserved + self.children + shares
    }
}

/// The whole lines of a transcript.
pub(crate) fn records(transcript: &str) -> Vec<Value> {
    let whole = transcript.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}
