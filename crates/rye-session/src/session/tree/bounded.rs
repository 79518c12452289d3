//! The bound on threads of a tree that may wait for a provider at once (SPEC 10.9).

use std::sync::Arc;

use async_trait::async_trait;
use rye_thread::{
    DeltaSink, Provider, ProviderError, ProviderInfo, ProviderTelemetry, Reply, Request,
};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The provider of one thread, which waits for its turn before each request.
///
/// A place is taken for a request and for nothing else. A thread that waits for another one holds no place. So requests go on,
/// however the threads wait for each other.
pub(in crate::session) fn bound(
    provider: Box<dyn Provider>,
    places: Arc<Semaphore>,
) -> Box<dyn Provider> {
    let first: Arc<dyn Provider> = provider.into();
    let levels = std::iter::successors(Some(&*first), |provider| provider.fallback()).count();
    let mut next = None;
    for level in (1..levels).rev() {
        let first = Arc::clone(&first);
        let places = Arc::clone(&places);
        next = Some(Box::new(Bounded { first, level, next, places }));
    }
    Box::new(Bounded { first, level: 0, next, places })
}

struct Bounded {
    first: Arc<dyn Provider>,
    /// The number of fallbacks that lead to this one.
    level: usize,
    next: Option<Box<Bounded>>,
    places: Arc<Semaphore>,
}

impl Bounded {
    fn provider(&self) -> &dyn Provider {
        let mut fallbacks = std::iter::successors(Some(&*self.first), |one| one.fallback());
        fallbacks.nth(self.level).unwrap_or(&*self.first)
    }

    async fn place(&self) -> SemaphorePermit<'_> {
        self.places.acquire().await.expect("because nobody closes it")
    }
}

#[async_trait]
impl Provider for Bounded {
    fn describe(&self) -> ProviderInfo {
        self.provider().describe()
    }

    fn telemetry(&self) -> ProviderTelemetry {
        self.provider().telemetry()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        let _place = self.place().await;
        self.provider().complete(request).await
    }

    async fn stream(
        &self,
        request: &Request,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        let _place = self.place().await;
        self.provider().stream(request, deltas).await
    }

    fn fallback(&self) -> Option<&dyn Provider> {
        self.next.as_deref().map(|next| next as &dyn Provider)
    }
}
