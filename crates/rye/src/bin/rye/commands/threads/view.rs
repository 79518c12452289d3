//! `rye view`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use clap::Args;
use rye::thread::ThreadId;
use rye_view::serve::{ServeError, Threads, serve};
use rye_view::{Listed, Source};

use super::source::{project, with_source};
use super::{Known, open_known};
use crate::commands::run::stop_signal;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::thread_argument::OptionalThread;

/// Show the threads of the project in a browser on this machine
#[derive(Debug, Args)]
#[command(
    after_help = "Prints an address and serves pages there until Ctrl-C: the list of threads, and each thread with its summary, its timeline, \
                  its conversation and its records. A thread is verified each time that its page is opened.\n\n\
                  The server listens to this machine alone. The address holds a random part that other users of the machine cannot guess; a \
                  page of another origin gets nothing. Nothing can be changed through it.\n\n\
                  Examples:\n  rye view\n  rye view --last --port 8080"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    thread: OptionalThread,
    /// The port to listen at; default: a free one
    #[arg(long, value_name = "PORT", default_value_t, hide_default_value = true)]
    port: u16,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let project = project(environment)?;
    // A server whose trust is broken should not begin.
    environment.rye()?;
    let page = match arguments.thread.resolve(environment)? {
        Some(thread) => format!("thread/{thread}"),
        None => "threads/".to_owned(),
    };
    let token = uuid::Uuid::new_v4().simple().to_string();
    let threads = Arc::new(ProjectThreads { environment: environment.clone(), project });
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let served = runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
        let listener = tokio::net::TcpListener::bind(address).await?;
        println!("http://{}/{token}/{page}", listener.local_addr()?);
        eprintln!("open this address in a browser; Ctrl-C ends the server");
        serve(threads, listener, &token, stop_signal()).await
    });
    // A page that is being made is left to the end of the process.
    runtime.shutdown_background();
    served.map_err(|error: ServeError| Failure::of(&error, Exit::Failed))?;
    Ok(Exit::Fine)
}

/// The threads of the project. They are read anew for each page, because other processes write them.
struct ProjectThreads {
    environment: Environment,
    project: String,
}

impl Threads for ProjectThreads {
    fn project(&self) -> String {
        self.project.clone()
    }

    fn list(&self) -> Result<Vec<Listed>, String> {
        let Some(known) = open_known(&self.environment).map_err(|error| error.to_string())? else {
            return Ok(Vec::new());
        };
        Ok(known.summaries.iter().map(|summary| row(summary, &known)).collect())
    }

    fn thread(&self, thread: &ThreadId, show: &mut dyn FnMut(&Source<'_>)) -> Result<(), String> {
        let known = open_known(&self.environment).map_err(|error| error.to_string())?;
        let known = known.ok_or_else(|| super::NONE.to_owned())?;
        with_source(thread, &known, &self.environment, show).map_err(|error| error.to_string())
    }
}

fn row(summary: &rye::thread::ThreadSummary, known: &Known) -> Listed {
    let standing = known.standing(&summary.thread, summary.state);
    let thread = summary.thread.clone();
    let mut row = Listed::new(thread, &summary.directive, standing, summary.created);
    (row.parent, row.updated) = (summary.parent.clone(), summary.updated);
    row.cost = known.cost_of(summary);
    row
}
