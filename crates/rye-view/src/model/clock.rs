//! The time that counts as a thread's: without approval waits, and without the time in which no process drove it.

use std::time::Duration;

use rye_transcript::{Event, Record};

/// Converts the time of day to the time into the thread, both in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct ActiveClock {
    /// The time of day of each record, and the active time at it. Neither ever decreases.
    points: Vec<(i64, u64)>,
}

impl ActiveClock {
    /// Adds a record with its event, and returns the time of day that is taken for it, which is not before that of the record
    /// before.
    pub(super) fn add(&mut self, record: &Record, event: Option<&Event>) -> i64 {
        let wall = record.at.as_unix_millis();
        let Some((before, active)) = self.points.last().copied() else {
            self.points.push((wall, 0));
            return wall;
        };
        let wall = wall.max(before);
        let passed = u64::try_from(wall - before).unwrap_or(0);
        let active = match event {
            // The process that resumes knows how much time the thread had taken when it stopped.
            Some(Event::ThreadResumed(resumed)) => millis(resumed.elapsed).max(active),
            _ => active.saturating_add(passed.saturating_sub(millis(record.approval_wait))),
        };
        self.points.push((wall, active));
        wall
    }

    /// The time into the thread at a time of day, between two records in proportion.
    pub(crate) fn active(&self, wall: i64) -> u64 {
        let after = self.points.partition_point(|(at, _)| *at <= wall);
        let Some((from, start)) = after.checked_sub(1).and_then(|it| self.points.get(it)) else {
            return 0;
        };
        let Some((to, end)) = self.points.get(after) else { return *start };
        let length = u64::try_from(to - from).unwrap_or(0).max(1);
        let passed = u64::try_from(wall - from).unwrap_or(0);
        start + (end - start).saturating_mul(passed) / length
    }

    /// The time of day of the last record.
    pub(crate) fn last(&self) -> i64 {
        self.points.last().map_or(0, |(wall, _)| *wall)
    }

    /// The active time of the thread so far.
    pub(crate) fn total(&self) -> u64 {
        self.points.last().map_or(0, |(_, active)| *active)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
