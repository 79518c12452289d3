//! The orders about a tree that wait for its turn to end.
//!
//! The turn has the tree's object for itself, so that an order cannot be carried out meanwhile. The worker that runs a long
//! step looks here, cancels the tree or brings it to a place where the turn ends, and the order is carried out then.

use std::time::Duration;

use restate_sdk::endpoint::{HandlerOptions, ServiceOptions};
use restate_sdk::prelude::*;
use restate_sdk::service::ServiceDefinition;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dispatch::{definition, dispatch};

/// The orders about one tree. The key of the object is the root.
pub struct RyeOrders;

/// A signed order, with the name of the invocation that waits for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waiting {
    pub name: String,
    pub order: Value,
}

impl RyeOrders {
    /// Returns the object under this name with its settings, as the server is told of it.
    pub fn define(self, name: &str) -> ServiceDefinition {
        let private = || HandlerOptions::new().ingress_private(true);
        let settings = ServiceOptions::new()
            .enable_lazy_state(true)
            .handler("leave", private())
            .handler("remove", private())
            .handler("waiting", HandlerOptions::new().journal_retention(Duration::ZERO))
            .retry_policy_max_interval(Duration::from_secs(10))
            .retry_policy_max_attempts(u64::from(u32::MAX));
        definition(self, name).options(settings)
    }
}

dispatch!(RyeOrders: leave, remove; waiting);

#[restate_sdk::object]
impl RyeOrders {
    /// Adds an order.
    #[handler]
    async fn leave(
        &self,
        context: ObjectContext<'_>,
        waiting: Json<Waiting>,
    ) -> Result<(), HandlerError> {
        let Json(Waiting { name, order }) = waiting;
        context.set(&name, Json(order));
        Ok(())
    }

    /// Removes an order that was carried out or refused.
    #[handler]
    async fn remove(
        &self,
        context: ObjectContext<'_>,
        name: Json<String>,
    ) -> Result<(), HandlerError> {
        context.clear(&name.0);
        Ok(())
    }

    /// Returns the orders, at any time.
    #[handler]
    async fn waiting(
        &self,
        context: SharedObjectContext<'_>,
    ) -> Result<Json<Vec<Value>>, HandlerError> {
        let mut orders = Vec::new();
        for name in context.get_keys().await? {
            orders.extend(context.get::<Json<Value>>(&name).await?.map(Json::into_inner));
        }
        Ok(Json(orders))
    }
}
