//! The horizontal scale of a timeline: active time, with a fixed width for each pause.

use crate::model::{PauseKind, Thread};

/// The left and right ends of the picture, in percent; the names of the rows stand before the left one.
const LEFT: f64 = 9.2;
const RIGHT: f64 = 99.8;

/// The width of a pause, and the most that all pauses take together, in percent.
const PAUSE: f64 = 4.4;
const MOST_PAUSES: f64 = 40.0;

/// A stretch of time that is drawn with a fixed width.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) kind: PauseKind,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) seq: u64,
    pub(crate) lasts: bool,
}

/// The scale of one thread.
#[derive(Debug)]
pub(crate) struct Scale<'a> {
    thread: &'a Thread<'a>,
    pub(crate) folds: Vec<Fold>,
    /// The width of one fold, and of one millisecond of active time.
    pub(crate) fold: f64,
    per_milli: f64,
}

impl<'a> Scale<'a> {
    pub(crate) fn new(thread: &'a Thread<'a>) -> Self {
        let folds = folds(thread);
        #[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
        let count = folds.len() as f64;
        #[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
        let total = thread.clock.total().max(1) as f64;
        let fold = if count == 0.0 { 0.0 } else { PAUSE.min(MOST_PAUSES / count) };
        let per_milli = (RIGHT - LEFT - count * fold) / total;
        Self { thread, folds, fold, per_milli }
    }

    /// The place of a time of day, in percent of the width.
    #[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
    pub(crate) fn x(&self, wall: i64) -> f64 {
        let active = self.thread.clock.active(wall) as f64 * self.per_milli;
        let folded: f64 = self.folds.iter().map(|fold| self.fold * fold.share_before(wall)).sum();
        LEFT + active + folded
    }

    /// The active time between two times of day.
    pub(crate) fn length(&self, start: i64, end: i64) -> u64 {
        self.thread.clock.active(end).saturating_sub(self.thread.clock.active(start))
    }

    /// The places of the ticks, with their labels, and no more than ten.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        const STEPS: [u64; 14] = [
            100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000, 120_000, 300_000, 600_000,
            1_800_000, 3_600_000,
        ];
        let total = self.thread.clock.total();
        let fits = |step: &&u64| total / **step < 10;
        let step = STEPS.iter().find(fits).copied().unwrap_or_else(|| (total / 9).max(1));
        let label = |active: u64| match step {
            0..1_000 => format!("{}.{} s", active / 1_000, active % 1_000 / 100),
            _ => format!("{}:{:02}", active / 60_000, active / 1_000 % 60),
        };
        (0..=total / step).map(|place| (self.tick(place * step), label(place * step))).collect()
    }

    /// The place of an active time; a fold that begins there stands after it.
    #[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
    fn tick(&self, active: u64) -> f64 {
        let before = |fold: &&Fold| self.thread.clock.active(fold.start) < active;
        let folds = self.folds.iter().filter(before).count() as f64;
        LEFT + active as f64 * self.per_milli + folds * self.fold
    }
}

impl Fold {
    /// The part of the fold that lies before a time of day.
    #[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
    fn share_before(&self, wall: i64) -> f64 {
        if wall <= self.start {
            0.0
        } else if self.end <= wall {
            // At the end of a pause that lasts, nothing is after it.
            if self.lasts { 0.0 } else { 1.0 }
        } else {
            (wall - self.start) as f64 / (self.end - self.start) as f64
        }
    }
}

/// The pauses of a thread. Those that overlap are one.
fn folds(thread: &Thread<'_>) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    for pause in &thread.pauses {
        let end = pause.end.unwrap_or_else(|| thread.clock.last()).max(pause.start);
        match folds.last_mut() {
            Some(last) if pause.start < last.end => {
                last.end = last.end.max(end);
                last.lasts |= pause.end.is_none();
            }
            _ => {
                let lasts = pause.end.is_none();
                folds.push(Fold {
                    kind: pause.kind,
                    start: pause.start,
                    end,
                    seq: pause.seq,
                    lasts,
                });
            }
        }
    }
    folds
}
