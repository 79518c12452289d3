//! Problems of a config, each with its place.

use std::fmt;

/// All problems of a provider config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    pub(super) fn new(problems: Vec<ConfigProblem>) -> Option<Self> {
        (!problems.is_empty()).then_some(Self { problems })
    }

    /// The problems in the order of reading, at least one.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

/// All problems, separated by semicolons.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        write!(f, "the provider config is not valid: {}", problems.join("; "))
    }
}

impl std::error::Error for ConfigError {}

/// A problem with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigProblem {
    /// The keys from the root down, joined by dots, as in `models.x.prices.input`. Empty for the root.
    pub path: String,
    /// The problem, as the rest of a sentence that starts with the path.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "`{path}` {}", self.message),
        }
    }
}
