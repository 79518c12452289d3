//! The modes of the sandbox.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

/// The modes of the sandbox, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SandboxMode {
    /// Namespaces made by bubblewrap, with Landlock and seccomp.
    Bubblewrap,
    /// The same namespaces made by Rye's own launcher, with Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp alone, for machines without namespaces.
    Landlock,
    /// Only a minimal environment, and limits of time and output.
    None,
}

impl SandboxMode {
    /// All modes, strongest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns `bubblewrap`, `namespaces`, `landlock` or `none`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the mode has mounts of its own, which keep the policy of the project as it is.
    /// What the kernel enforced says if everything is confined.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Bubblewrap | Self::Namespaces)
    }
}
