//! The owner of the model of a thread: one request with its attempts, and the fallback (SPEC 11.1).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rye_types::{LimitSet, Nanos, SpendLimit};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::accountant::Accountant;
use super::answer::Answer;
use super::first::refuse_unpriced;
use super::recorder::Recorder;
use super::stop::Stop;
use crate::transcript::Event;
use crate::transcript::payload::{ModelFallback, RequestFailed, RequestRetried};
use crate::{
    Cancel, Charge, Delta, DeltaSink, Failure, FailureKind, Observer, Provider, ProviderError,
    ProviderInfo, Request, Retry,
};

/// An announced attempt, and the sender that lets it begin.
type Notice = (Retry, oneshot::Sender<()>);

/// Passes pieces of answers to the observer, and announced attempts to the driver.
struct Deltas<'a> {
    observer: &'a dyn Observer,
    may_cost: AtomicBool,
    notices: mpsc::Sender<Notice>,
}

#[async_trait]
impl DeltaSink for Deltas<'_> {
    fn delta(&self, delta: Delta<'_>) {
        self.observer.delta(delta);
    }

    fn charge(&self, charge: Charge) {
        self.may_cost.store(charge == Charge::Possible, Ordering::Relaxed);
    }

    async fn retry(&self, retry: &Retry) {
        let (begins, begun) = oneshot::channel();
        if self.notices.send((retry.clone(), begins)).await.is_ok() {
            // The driver drops the request where the attempt may not begin.
            let _begins: Result<(), oneshot::error::RecvError> = begun.await;
        }
    }
}

/// Sends requests to the model that answers the thread.
pub(super) struct ModelCaller<'a> {
    pub(super) provider: &'a dyn Provider,
    /// The provider as it describes itself.
    pub(super) info: ProviderInfo,
    observer: &'a dyn Observer,
    cancel: &'a Cancel,
}

/// A request that is recorded and reserved.
pub(super) struct ReservedRequest<'a> {
    pub(super) request: &'a Request,
    /// The number of the turn, from 1.
    pub(super) turn: u64,
    pub(super) reserved: Nanos,
    /// The limit of money of the thread.
    pub(super) cap: SpendLimit,
    /// The time that the request may take.
    pub(super) left: Duration,
}

impl<'a> ModelCaller<'a> {
    pub(super) fn new(
        provider: &'a dyn Provider,
        observer: &'a dyn Observer,
        cancel: &'a Cancel,
    ) -> Self {
        Self { provider, info: provider.describe(), observer, cancel }
    }

    /// Sends the request, and reserves money for each further attempt that the provider announces.
    pub(super) async fn request(
        &self,
        asked: &ReservedRequest<'_>,
        recorder: &mut Recorder<'_>,
        accountant: &Accountant,
    ) -> Answer {
        let (notices, mut announced) = mpsc::channel(1);
        let may_cost = AtomicBool::new(true);
        let deltas = Deltas { observer: self.observer, may_cost, notices };
        let replied = timeout(asked.left, self.provider.stream(asked.request, &deltas));
        let mut replied = std::pin::pin!(replied);
        // A request that was dropped may be charged in full, and no reply will say so; one that only waited is not.
        let dropped = || match deltas.may_cost.load(Ordering::Relaxed) {
            true => asked.reserved,
            false => Nanos::ZERO,
        };
        loop {
            tokio::select! {
                biased;
                halt = self.cancel.wait_for_halt() => return Answer::Halted(halt, dropped()),
                Some((retry, begins)) = announced.recv() => {
                    if let Err(stop) = attempt_again(asked, retry, recorder, accountant).await {
                        return Answer::Stopped(stop);
                    }
                    deltas.charge(Charge::Nothing);
                    // A provider that no longer waits for it has given up.
                    let _gave_up: Result<(), ()> = begins.send(());
                }
                replied = &mut replied => return match replied {
                    Ok(Ok(reply)) => Answer::Replied(reply),
                    Ok(Err(error)) => Answer::Failed(error),
                    Err(_) => Answer::OutOfTime(dropped()),
                },
            }
        }
    }

    /// Hands the thread over to the fallback where there is one and the first request failed, so that the request is made again.
    ///
    /// `reason` is the failure with the cost that is booked for it.
    pub(super) fn fall_back(
        &mut self,
        is_first: bool,
        limits: &LimitSet,
        error: &ProviderError,
        reason: &str,
    ) -> Result<Event, Stop> {
        let may = is_first && error.is_for_the_fallback();
        let Some(next) = self.provider.fallback().filter(|_| may) else {
            return Err(Stop::Failed(Failure::new(FailureKind::Provider(error.class), reason)));
        };
        let provider = next.describe();
        refuse_unpriced(&provider, limits).map_err(|Failure { kind, message, .. }| {
            let message = format!("{reason}; its fallback is not asked: {message}");
            Stop::Failed(Failure::new(kind, &message))
        })?;
        self.use_fallback(next);
        Ok(Event::ModelFallback(ModelFallback::new(&provider, reason)))
    }

    /// Sends all further requests to the fallback.
    pub(super) fn use_fallback(&mut self, next: &'a dyn Provider) {
        (self.provider, self.info) = (next, next.describe());
    }
}

/// Records the cost of the attempt that failed and the reservation of the next one, which is on disk before it is sent.
async fn attempt_again(
    asked: &ReservedRequest<'_>,
    retry: Retry,
    recorder: &mut Recorder<'_>,
    accountant: &Accountant,
) -> Result<(), Stop> {
    let turn = asked.turn;
    let reserved = asked.reserved;
    let cost = match retry.charge {
        Charge::Nothing => Nanos::ZERO,
        Charge::Possible => reserved,
    };
    if let Err(failure) = accountant.check_another_attempt(asked.cap, cost) {
        let class = retry.class.to_string();
        let message = format!("{}; another attempt is not paid for", retry.message);
        recorder.emit(&Event::RequestFailed(RequestFailed {
            turn,
            class,
            message: message.clone(),
            cost,
        }));
        let message = format!("{message}{}: {}", booked_words(cost), failure.message);
        return Err(Stop::Failed(Failure::new(failure.kind, &message)));
    }
    recorder.emit(&Event::RequestRetried(RequestRetried::new(turn, &retry, cost, reserved)));
    recorder.sync().await
}

/// The end of a message about a request without an answer, where its whole reservation counts as its cost.
pub(super) fn booked_words(cost: Nanos) -> String {
    if cost == Nanos::ZERO {
        return String::new();
    }
    format!("; {cost} counts as spent, because the provider may charge for it")
}
