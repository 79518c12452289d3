//! The surroundings that the server borrows from its program.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rye_caps::Grant;
use rye_project::primary::Caller;
use rye_project::{ProviderChoice, Setup, SpacesToCheck};
use rye_providers::RandomBits;
use rye_resolve::ItemId;
use rye_sign::SigningKey;
use rye_thread::store::Replica;
use rye_thread::{Clock, ThreadId};

use super::error::RequestError;
use crate::rye::Rye;
use crate::session::Secrets;

/// The surroundings of the server: its spaces, the rights of its clients, and the services of its program.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "a server that lacks one of these must not compile")]
pub struct ServerHost {
    /// The spaces and the trusted keys. Each request has a time of its own.
    pub setup: Setup,
    /// The folder with the records of threads, instead of `.ai/threads` of the project.
    pub threads: Option<PathBuf>,
    /// A place beyond this machine that keeps the transcripts of all threads which clients start.
    pub replica: Option<Arc<dyn Replica>>,
    /// The rights of clients.
    pub grant: Grant,
    /// The provider for the threads that clients start. A client cannot choose it.
    pub provider: ProviderChoice,
    /// `true` to offer each directive that clients may run as a tool of its own, too, typed by its inputs and outputs.
    pub directives_as_tools: bool,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of the providers' keys.
    pub secrets: Arc<dyn Secrets>,
    /// Bits that spread the waits between attempts.
    pub random: RandomBits,
    /// The operator's signing key, read when it is needed; the text says why it cannot be read.
    pub signing_key: SigningKeySource,
    /// The id of a new thread of a directive.
    pub new_thread: NewThread,
    /// The deciders on the calls that wait in threads of clients.
    pub approvals: Approvals,
    /// A notice for clients about the surroundings of their calls, such as
    /// [`Project::sandbox_warning`](rye_project::Project::sandbox_warning).
    pub notice: Option<String>,
}

/// Deciders on a call that waits for approval in a thread of a client (SPEC 10.11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the operator is alone with it or shares it")]
pub enum Approvals {
    /// The operator alone, by commands.
    #[default]
    Operator,
    /// The operator, and the person at the client that waits for the thread's end, if the client can ask one.
    Clients {
        /// They have so long to answer.
        within: Duration,
    },
}

/// The source of the operator's key; `None` where there is none.
pub(crate) type SigningKeySource =
    Arc<dyn Fn() -> Result<Option<Arc<SigningKey>>, String> + Send + Sync>;

/// Makes the id of a new thread.
pub(crate) type NewThread = Arc<dyn Fn(&ItemId) -> ThreadId + Send + Sync>;

impl ServerHost {
    pub(super) fn rye(&self) -> Result<Rye, RequestError> {
        let mut rye = Rye::open(&self.setup_now())?;
        rye.threads.clone_from(&self.threads);
        rye.replica.clone_from(&self.replica);
        Ok(rye)
    }

    /// The spaces for checks alone, which a broken trust policy does not prevent.
    pub(super) fn spaces_to_check(&self) -> Result<SpacesToCheck, RequestError> {
        Ok(SpacesToCheck::open(&self.setup_now())?)
    }

    fn setup_now(&self) -> Setup {
        let mut setup = self.setup.clone();
        setup.now = self.clock.now().timestamp();
        setup
    }

    pub(super) fn caller(&self) -> Caller {
        Caller::client(self.grant.clone())
    }

    pub(super) fn key(&self) -> Result<Option<Arc<SigningKey>>, RequestError> {
        (self.signing_key)().map_err(|message| RequestError::Key { message })
    }
}

impl fmt::Debug for ServerHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHost")
            .field("setup", &self.setup)
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}

/// Returns the rights of clients when the operator adds nothing: search and load. Loading includes checks,
/// explanations, and the use of a directive or knowledge in their own conversation.
#[must_use]
pub fn reading() -> Grant {
    let of = |primary| Grant::of_primary(primary).expect("because it is the name of an operation");
    of("search").union(&of("load"))
}
