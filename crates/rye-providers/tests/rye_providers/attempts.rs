//! Reports of a provider about its attempts.

use std::sync::Mutex;
use std::time::Duration;

use rye_thread::{Charge, Delta, DeltaSink, Retry};

use crate::vendor::{Vendor, error, hello, request};

/// The reports of a provider during a request.
#[derive(Default)]
struct Told {
    charges: Mutex<Vec<Charge>>,
    retries: Mutex<Vec<Retry>>,
}

#[async_trait::async_trait]
impl DeltaSink for Told {
    fn delta(&self, _: Delta<'_>) {}

    fn charge(&self, charge: Charge) {
        self.charges.lock().unwrap().push(charge);
    }

    async fn retry(&self, retry: &Retry) {
        self.retries.lock().unwrap().push(retry.clone());
    }
}

/// The charge of each attempt is reported when the next one is announced, and that of the last one with its
/// error.
#[tokio::test]
async fn each_attempt_may_have_cost() {
    let kind = |status| match status {
        400 => "invalid_request_error",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let free = Charge::Nothing;
    let paid = Charge::Possible;
    for (statuses, charges, last_may_have_cost) in [
        (&[429][..], &[free, free][..], false),
        (&[429, 529, 429], &[free, free], false),
        (&[504, 429], &[paid, free], false),
        (&[500, 529, 529], &[paid, free], false),
        (&[429, 504, 400], &[free, paid], false),
        (&[529, 500], &[free, paid], true),
    ] {
        let answers = statuses.iter().map(|status| error(*status, kind(*status), "no")).collect();
        let vendor = Vendor::answering(answers);
        let told = Told::default();
        let error = vendor.provider(&vendor.config()).stream(&request(), &told).await.unwrap_err();
        let retries = told.retries.into_inner().unwrap();
        let told: Vec<Charge> = retries.iter().map(|retry| retry.charge).collect();
        assert_eq!((told.as_slice(), error.may_have_cost()), (charges, last_may_have_cost));
    }
}

/// Dropping a request costs nothing only while it waits for room or for the next attempt, because earlier
/// attempts were reported.
#[tokio::test]
async fn what_stopping_costs_is_told() {
    let [limited, failed] = [(429, "rate_limit_error"), (500, "api_error")]
        .map(|(status, kind)| error(status, kind, "no").with("retry-after-ms", "1"));
    let vendor = Vendor::answering(vec![limited, failed, hello()]);
    let told = Told::default();
    vendor.provider(&vendor.config()).stream(&request(), &told).await.unwrap();
    let free = Charge::Nothing;
    let paid = Charge::Possible;
    assert_eq!(told.charges.into_inner().unwrap(), [free, paid, free, paid, free, paid]);
    let retries = told.retries.into_inner().unwrap();
    let shown: Vec<String> =
        retries.iter().map(|retry| format!("{}: {retry}", retry.message)).collect();
    assert_eq!(
        shown,
        [
            "`vendor` answered 429 (`rate_limit_error`): no: rate limited, next attempt in 1 ms (2 of 3)",
            "`vendor` answered 500 (`api_error`): no: server error, next attempt in 1 ms (3 of 3)",
        ]
    );
    assert_eq!(retries[0].hint, Some(Duration::from_millis(1)));
}
