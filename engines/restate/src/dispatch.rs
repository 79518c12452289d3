//! Serves objects under names with the label of their workers. The SDK's macro gives an object one name for all workers.

use std::sync::Arc;

use restate_sdk::discovery::ServiceName;
use restate_sdk::endpoint::{ContextInternal, Error};
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Discoverable, Service, ServiceDefinition};

/// An object whose handlers are found by their names.
pub trait Dispatch: Discoverable + Send + Sync + 'static {
    /// Calls the handler that the server asks for.
    fn dispatch(&self, context: &ContextInternal)
    -> impl Future<Output = Result<(), Error>> + Send;
}

/// Returns the definition of the object under this name.
pub fn definition<T: Dispatch>(object: T, name: &str) -> ServiceDefinition {
    let mut discovery = T::discover();
    discovery.name =
        ServiceName::try_from(name).expect("because a label is a part of a plain name");
    service_definition(Dispatcher(Arc::new(object)), discovery)
}

struct Dispatcher<T>(Arc<T>);

impl<T: Dispatch> Service for Dispatcher<T> {
    type Future = ServiceBoxFuture;

    fn handle(&self, context: ContextInternal) -> Self::Future {
        let object = Arc::clone(&self.0);
        Box::pin(async move { object.dispatch(&context).await })
    }
}

/// Implements [`Dispatch`] for an object: its handlers with an input, and behind a semicolon those without. They are called as the
/// SDK's macro calls them.
macro_rules! dispatch {
    ($object:ty: $($with:ident),+; $($without:ident),*) => {
        impl $crate::dispatch::Dispatch for $object {
            async fn dispatch(
                &self,
                context: &::restate_sdk::endpoint::ContextInternal,
            ) -> Result<(), ::restate_sdk::endpoint::Error> {
                match context.handler_name() {
                    $(stringify!($with) => {
                        let (input, metadata) = context.input().await;
                        let result = self.$with((context, metadata).into(), input).await;
                        context.handle_handler_result(result);
                    })+
                    $(stringify!($without) => {
                        let ((), metadata) = context.input().await;
                        let result = self.$without((context, metadata).into()).await;
                        context.handle_handler_result(result);
                    })*
                    other => {
                        let service = context.service_name();
                        return Err(::restate_sdk::endpoint::Error::unknown_handler(service, other));
                    }
                }
                context.end();
                Ok(())
            }
        }
    };
}

pub(crate) use dispatch;
