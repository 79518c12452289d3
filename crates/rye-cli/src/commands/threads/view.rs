//! `rye view`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use rye::thread::store::StoreView;
use rye::thread::{
    Cancel, Decider, Decision, DenialReason, PendingApproval, ThreadId, thread_root,
};
use rye::{Privileges, ThreadReading};
use rye_view::serve::{Deciding, Decisions, ServeError, Threads, Verdict, serve};
use rye_view::{Listed, Source};

use super::browser::{self, AddressFile};
use super::source::{Reach, project, with_source};
use super::{Known, open_known, read};
use crate::clock::SystemClock;
use crate::commands::reopen::host;
use crate::commands::run::multi_thread_runtime;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::thread_argument::{OptionalThread, threads_folder};

/// Show the threads of the project in a browser on this machine
#[derive(Debug, Args)]
#[command(
    after_help = "Prints an address, opens it in the browser of the desktop, and serves pages there until Ctrl-C: the list of threads, each thread with its summary, its timeline, \
                  its conversation, its records and its authority, and two threads beside each other. A thread is verified each time that its page is opened.\n\n\
                  The server listens to this machine alone. The address holds a random part that other users of the machine cannot guess; a \
                  page of another origin gets nothing. The page of a running thread follows it.\n\n\
                  No browser is opened with `--no-open`, over SSH, where no display is, or where standard output is no terminal.\n\n\
                  With `--approve`, a call that waits can be approved or denied on the page of its thread, as `rye approve` and `rye deny` do. \
                  The address then works once: the browser that opens it first may decide, and every other one only reads. \
                  Without it, nothing can be changed.\n\n\
                  Examples:\n  rye view\n  rye view --approve\n  rye view --last --port 8080"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    thread: OptionalThread,
    /// The port to listen at; default: a free one
    #[arg(long, value_name = "PORT", default_value_t, hide_default_value = true)]
    port: u16,
    /// Print the address only, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Let calls that wait be approved and denied on the pages
    #[arg(long)]
    approve: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let project = project(environment)?;
    // A server whose trust is broken should not begin.
    environment.rye()?;
    let thread = arguments.thread.resolve(environment)?;
    let random = || uuid::Uuid::new_v4().simple().to_string();
    let token = random();
    let (environment, file) = (environment.clone(), Mutex::default());
    let decisions = ProjectDecisions { environment: environment.clone() };
    let threads = Arc::new(ProjectThreads { environment, project, file });
    let deciding = || Deciding::new(Arc::new(decisions), &random(), &random());
    let deciding = arguments.approve.then(deciding);
    let path = match (&deciding, &thread) {
        (Some(deciding), thread) => deciding.path(&token, thread.as_ref()),
        (None, Some(thread)) => format!("/{token}/thread/{thread}"),
        (None, None) => format!("/{token}/threads/"),
    };
    let runtime = multi_thread_runtime()?;
    let served = runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
        let listener = tokio::net::TcpListener::bind(address).await?;
        let address = format!("http://{}{path}", listener.local_addr()?);
        println!("{address}");
        let is_opened = !arguments.no_open && threads.open_browser(&address);
        // A desktop says that it started a program, and not that a page appeared.
        let advice = match is_opened {
            true => "opened in a browser; if no page appears, open this address",
            false => "open this address in a browser",
        };
        eprintln!("{advice}; Ctrl-C ends the server");
        if arguments.approve {
            eprintln!("the browser that opens it first may decide, and every other one only reads");
        }
        let shown = Arc::clone(&threads);
        let served = serve(shown, deciding, listener, &token, crate::signals::wait()).await;
        // Pages that are being made hold the threads.
        threads.note_browser();
        served
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
    /// The file that leads the browser to the address, until a request shows that one has read it.
    file: Mutex<Option<AddressFile>>,
}

impl ProjectThreads {
    /// Opens the address in a browser, and returns `true` if there is one.
    fn open_browser(&self, address: &str) -> bool {
        let hidden = self.environment.hidden_folder();
        let opened = self.environment.project().ok().and_then(|project| {
            browser::open(address, hidden.as_deref(), project, Environment::variable)
        });
        let is_opened = opened.is_some();
        *self.file() = opened;
        is_opened
    }

    fn file(&self) -> MutexGuard<'_, Option<AddressFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        with_source(thread, Reach::Children, &known, &self.environment, show)
            .map_err(|error| error.to_string())
    }

    fn tighten(&self, thread: &ThreadId) -> Result<String, String> {
        let tighten = || -> Result<String, Failure> {
            let rye = self.environment.rye()?;
            let reading = read(thread, &threads_folder(&self.environment)?, &self.environment)?;
            let ThreadReading { record, transcript, .. } = &reading;
            let id = record.directive.parse();
            let id = id.map_err(|error| Failure::of(&error, Exit::Failed))?;
            let privileges = Privileges::of(&rye, &id, &[(record, transcript)])?;
            let tightened = privileges.tighten();
            Ok(tightened.map_err(|error| Failure::of(&error, Exit::Failed))?.to_string())
        };
        tighten().map_err(|error| error.to_string())
    }

    /// Returns the lengths of the growing files, and the owner of the tree, which may stop without
    /// a trace.
    fn pulse(&self, thread: &ThreadId) -> Option<String> {
        let threads = threads_folder(&self.environment).ok()?;
        let folder = threads.join(thread.as_str());
        let length = |name: &str| std::fs::metadata(folder.join(name)).map_or(0, |file| file.len());
        let root = thread_root(&threads, thread);
        let owner = StoreView::owner(&threads, root.as_ref().unwrap_or(thread)).ok().flatten();
        let lengths = [length("transcript.jsonl"), length("thread.json")];
        Some(format!("{lengths:?} {}", owner.is_some()))
    }

    fn note_browser(&self) {
        drop(self.file().take());
    }
}

/// The decisions of the operator on pages, which are recorded as those of `rye approve` and `rye deny` are.
struct ProjectDecisions {
    environment: Environment,
}

impl Decisions for ProjectDecisions {
    fn decide(&self, asked: &PendingApproval, verdict: &Verdict) -> Result<(), String> {
        let decision = decision(verdict)?;
        let decide = || -> Result<(), Failure> {
            let cancel = Cancel::new();
            let clock = SystemClock::new();
            let host = host(&clock, &cancel, &self.environment)?;
            let rye = self.environment.rye()?;
            rye.decide_about(asked, &decision, &Decider::page(), &host)?;
            Ok(())
        };
        decide().map_err(|error| error.to_string())
    }
}

fn decision(verdict: &Verdict) -> Result<Decision, String> {
    match verdict {
        Verdict::Approve => Ok(Decision::Approved),
        Verdict::Deny { reason } => {
            let reason: Option<Result<DenialReason, _>> =
                reason.as_ref().map(|reason| reason.parse());
            let reason = reason.transpose().map_err(|error| error.to_string())?;
            Ok(Decision::Denied(reason))
        }
        _ => Err("this program does not know the decision".to_owned()),
    }
}

fn row(summary: &rye::thread::ThreadSummary, known: &Known) -> Listed {
    let standing = known.standing(&summary.thread, summary.state);
    let thread = summary.thread.clone();
    let mut row = Listed::new(thread, &summary.directive, standing, summary.created);
    (row.parent, row.updated) = (summary.parent.clone(), summary.updated);
    let figures = known.figures_of(summary);
    (row.cost, row.turns, row.usage) = (figures.cost, figures.turns, figures.usage);
    (row.model, row.duration) = (summary.model.clone(), figures.duration);
    row
}
