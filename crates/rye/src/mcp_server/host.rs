//! What the server borrows from the program around it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rye_caps::Grant;
use rye_providers::RandomBits;
use rye_resolve::ItemId;
use rye_sign::SigningKey;
use rye_thread::{Clock, ThreadId};

use crate::primary::{Caller, PrimaryError};
use crate::rye::{Rye, Setup};
use crate::session::{ProviderChoice, Secrets};

/// Where the server looks, what its clients may do, and what it needs of the program around it.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "a server that lacks one of these must not compile")]
pub struct ServerHost {
    /// The spaces and whom to trust; each request has the time of its own.
    pub setup: Setup,
    /// What clients may do.
    pub grant: Grant,
    /// Who answers the threads that clients start; a client has no say in it.
    pub provider: ProviderChoice,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where the keys of providers come from.
    pub secrets: Arc<dyn Secrets>,
    /// Bits that spread the waits between attempts.
    pub random: RandomBits,
    /// The operator's signing key, read when it is needed; the text says why it cannot be read.
    pub signing_key: SigningKeySource,
    /// The id of a new thread of a directive.
    pub new_thread: NewThread,
    /// Who may decide on the calls that wait in threads of clients.
    pub approvals: Approvals,
    /// What clients should know of what their calls run in, such as [`Rye::sandbox_warning`].
    pub notice: Option<String>,
}

/// Who may decide on a call that waits for approval in a thread that a client started (SPEC 10.11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the operator is alone with it or shares it")]
pub enum Approvals {
    /// The operator alone, by commands.
    #[default]
    Operator,
    /// Whoever the client that waits for the thread's end asks, too, where the client says that it can ask.
    Clients {
        /// They have so long to answer.
        within: Duration,
    },
}

/// Where the operator's key comes from; `None` where there is none.
pub(crate) type SigningKeySource =
    Arc<dyn Fn() -> Result<Option<Arc<SigningKey>>, String> + Send + Sync>;

/// Makes the id of a new thread.
pub(crate) type NewThread = Arc<dyn Fn(&ItemId) -> ThreadId + Send + Sync>;

impl ServerHost {
    pub(super) fn rye(&self) -> Result<Rye, PrimaryError> {
        let mut setup = self.setup.clone();
        setup.now = self.clock.now().timestamp();
        Ok(Rye::open(&setup)?)
    }

    pub(super) fn caller(&self) -> Caller {
        Caller::client(self.grant.clone())
    }

    pub(super) fn key(&self) -> Result<Option<Arc<SigningKey>>, PrimaryError> {
        (self.signing_key)().map_err(|message| PrimaryError::Key { message })
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

/// What clients may do when the operator adds nothing: search and load, which also is taking a directive or knowledge
/// into their own conversation.
#[must_use]
pub fn reading() -> Grant {
    let of = |primary| Grant::of_primary(primary).expect("because it is the name of an operation");
    of("search").union(&of("load"))
}
