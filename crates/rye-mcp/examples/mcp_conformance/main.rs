//! What the protocol's conformance suite asks a server to offer, over the HTTP of `rye mcp`: `cargo run --example mcp_conformance`
//! says where it listens. `cargo xtask mcp` runs the suite against it.

#![expect(clippy::print_stderr, reason = "a program talks to its terminal")]
#![expect(deprecated, reason = "what newer revisions left out is what older clients ask for")]

mod asking;
mod fixture;
mod handler;

use std::error::Error;
use std::sync::Arc;

use rye_mcp::{HttpOptions, serve_http};
use tokio::net::TcpListener;
use tokio::sync::broadcast;

use self::fixture::Fixture;
use self::handler::Handler;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let fixture = Arc::new(Fixture::read()?);
    let changes = broadcast::Sender::new(16);
    let made = move || Handler::new(Arc::clone(&fixture), changes.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening at http://{}/mcp", listener.local_addr()?);
    let options = HttpOptions::default();
    serve_http(made, listener, options, std::future::pending(), async {}).await?;
    Ok(())
}
