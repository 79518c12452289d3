//! Serves the object under the name of its workers' label. The SDK's macro gives an object one name for all workers.

use std::sync::Arc;

use restate_sdk::discovery::ServiceName;
use restate_sdk::endpoint::{ContextInternal, Error};
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Discoverable, Service, ServiceDefinition};

use super::RyeThread;

/// Returns the definition of the object under this name.
pub(super) fn definition(object: RyeThread, name: &str) -> ServiceDefinition {
    let mut discovery = RyeThread::discover();
    discovery.name =
        ServiceName::try_from(name).expect("because a label is a part of a plain name");
    service_definition(Dispatcher(Arc::new(object)), discovery)
}

/// Calls the handlers, as the SDK's macro does.
struct Dispatcher(Arc<RyeThread>);

impl Service for Dispatcher {
    type Future = ServiceBoxFuture;

    fn handle(&self, context: ContextInternal) -> Self::Future {
        let object = Arc::clone(&self.0);
        Box::pin(async move { dispatch(&object, &context).await })
    }
}

async fn dispatch(object: &RyeThread, context: &ContextInternal) -> Result<(), Error> {
    macro_rules! handle {
        ($handler:ident,) => {{
            let ((), metadata) = context.input().await;
            let result = object.$handler((context, metadata).into()).await;
            context.handle_handler_result(result);
        }};
        ($handler:ident) => {{
            let (input, metadata) = context.input().await;
            let result = object.$handler((context, metadata).into(), input).await;
            context.handle_handler_result(result);
        }};
    }
    match context.handler_name() {
        "start" => handle!(start),
        "order" => handle!(order),
        "steps" => handle!(steps),
        "standing" => handle!(standing,),
        "turn" => handle!(turn),
        "carry_out" => handle!(carry_out),
        other => return Err(Error::unknown_handler(context.service_name(), other)),
    }
    context.end();
    Ok(())
}
