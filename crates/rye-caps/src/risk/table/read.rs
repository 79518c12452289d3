//! Reading of risk tables, which reports every problem.

use std::{collections::BTreeMap, error, fmt, str::FromStr};

use rye_types::{Risk, RiskPolicy, UnknownName};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{RiskTable, Rule};
use crate::{
    pattern::{Pattern, PatternError},
    untrusted_text::sanitize,
};

impl RiskTable {
    /// Reads a table from the value of `config/agent/capability_risk.yaml`; the [module](crate::risk) shows its form.
    ///
    /// Besides `risk_levels` and `classifications`, the keys that every configuration file may have are accepted:
    /// `version`, `schema_version`, `category`, `tool_type` and `description`.
    ///
    /// # Errors
    ///
    /// [`RiskTableError`] with every problem: a value of the wrong type, an unknown key, risk or policy, or a missing
    /// `classifications`, `risk` or `patterns`. An invalid pattern, and one that covers no capability, are problems too.
    pub fn from_value(value: &Value) -> Result<Self, RiskTableError> {
        let mut reader = Reader { problems: Vec::new() };
        let table = reader.table(value);
        if reader.problems.is_empty() {
            Ok(table)
        } else {
            Err(RiskTableError { problems: reader.problems })
        }
    }
}

/// A value that is not a risk table, with all its problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiskTableError {
    problems: Vec<RiskTableProblem>,
}

impl RiskTableError {
    /// The problems in the order of the value. There is at least one.
    pub fn problems(&self) -> &[RiskTableProblem] {
        &self.problems
    }
}

impl fmt::Display for RiskTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the risk table cannot be used")?;
        for (index, problem) in self.problems.iter().enumerate() {
            write!(f, "{} {problem}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl error::Error for RiskTableError {}

/// One problem of a risk table. Its `Display` is the whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RiskTableProblem {
    /// The place, such as `classifications[0].risk`; empty for the table itself.
    pub path: String,
    /// The problem.
    pub kind: RiskTableProblemKind,
}

impl fmt::Display for RiskTableProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "the table {}", self.kind),
            path => write!(f, "`{path}` {}", self.kind),
        }
    }
}

/// The ways in which a value is not a risk table. `Display` writes the part of the message after the place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RiskTableProblemKind {
    /// The value has the wrong type.
    #[error("is not {expected}")]
    WrongType {
        /// The correct type, with its article.
        expected: &'static str,
    },
    /// A key that the table does not have.
    #[error("is not known; valid are {valid}")]
    UnknownKey {
        /// The valid keys, in backticks.
        valid: String,
    },
    /// A required key is missing.
    #[error("is missing")]
    Missing,
    /// A list is empty.
    #[error("is empty; write at least one pattern")]
    Empty,
    /// A name that is not a risk or a policy.
    #[error("names an {0}")]
    UnknownName(UnknownName),
    /// A text that is not a pattern.
    #[error("cannot be read: {0}")]
    Pattern(PatternError),
    /// A pattern that covers no capability, so that it would silently classify nothing.
    #[error("covers no capability; write `rye.<primary>.<kind>.<id>`, with wildcards")]
    CoversNothing,
}

struct Reader {
    problems: Vec<RiskTableProblem>,
}

impl Reader {
    fn table(&mut self, value: &Value) -> RiskTable {
        let Some(table) = self.mapping(value, "", TABLE_KEYS) else { return RiskTable::default() };
        let policies =
            table.get("risk_levels").map(|levels| self.policies(levels)).unwrap_or_default();
        let rules = match table.get("classifications") {
            Some(classifications) => self.rules(classifications),
            None => {
                self.report("classifications".to_owned(), RiskTableProblemKind::Missing);
                Vec::new()
            }
        };
        RiskTable::new(policies, rules)
    }

    fn policies(&mut self, levels: &Value) -> BTreeMap<Risk, RiskPolicy> {
        let Some(levels) = self.mapping(levels, "risk_levels", Risk::NAMES) else {
            return BTreeMap::new();
        };
        let mut policies = BTreeMap::new();
        for &risk in Risk::ALL {
            let Some(level) = levels.get(risk.as_str()) else { continue };
            if let Some(policy) = self.policy(level, &format!("risk_levels.{risk}")) {
                policies.insert(risk, policy);
            }
        }
        policies
    }

    fn policy(&mut self, level: &Value, path: &str) -> Option<RiskPolicy> {
        let level = self.mapping(level, path, &["policy", "description"])?;
        self.text(level, path, "description");
        let name = self.text(level, path, "policy")?;
        self.parse_name(name, format!("{path}.policy"))
    }

    fn rules(&mut self, classifications: &Value) -> Vec<Rule> {
        let path = "classifications";
        let elements = self.list(classifications, path).into_iter().flatten().enumerate();
        elements
            .flat_map(|(index, element)| self.classification(element, &format!("{path}[{index}]")))
            .collect()
    }

    fn classification(&mut self, element: &Value, path: &str) -> Vec<Rule> {
        let Some(element) = self.mapping(element, path, &["risk", "patterns", "description"])
        else {
            return Vec::new();
        };
        for key in ["risk", "patterns"].into_iter().filter(|&key| !element.contains_key(key)) {
            self.report(format!("{path}.{key}"), RiskTableProblemKind::Missing);
        }
        let description = self.text(element, path, "description").map(str::to_owned);
        let risk = self
            .text(element, path, "risk")
            .and_then(|name| self.parse_name(name, format!("{path}.risk")));
        let patterns = element
            .get("patterns")
            .map(|patterns| self.patterns(patterns, &format!("{path}.patterns")));
        let rule = |pattern| Some(Rule { pattern, risk: risk?, description: description.clone() });
        patterns.into_iter().flatten().filter_map(rule).collect()
    }

    fn patterns(&mut self, patterns: &Value, path: &str) -> Vec<Pattern> {
        let Some(patterns) = self.list(patterns, path) else { return Vec::new() };
        if patterns.is_empty() {
            self.report(path.to_owned(), RiskTableProblemKind::Empty);
        }
        let elements = patterns.iter().enumerate();
        elements
            .filter_map(|(index, element)| self.pattern(element, format!("{path}[{index}]")))
            .collect()
    }

    fn pattern(&mut self, element: &Value, path: String) -> Option<Pattern> {
        let problem = match element.as_str().map(Pattern::from_str) {
            None => RiskTableProblemKind::WrongType { expected: "a text" },
            Some(Err(error)) => RiskTableProblemKind::Pattern(error),
            Some(Ok(pattern)) if pattern.example().is_none() => RiskTableProblemKind::CoversNothing,
            Some(Ok(pattern)) => return Some(pattern),
        };
        self.report(path, problem);
        None
    }

    fn mapping<'v>(
        &mut self,
        value: &'v Value,
        path: &str,
        keys: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(mapping) = value.as_object() else {
            self.report(path.to_owned(), RiskTableProblemKind::WrongType { expected: "a mapping" });
            return None;
        };
        for key in mapping.keys().filter(|key| !keys.contains(&key.as_str())) {
            let valid = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            let dot = if path.is_empty() { "" } else { "." };
            self.report(
                format!("{path}{dot}{}", sanitize(key)),
                RiskTableProblemKind::UnknownKey { valid },
            );
        }
        Some(mapping)
    }

    fn list<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v Vec<Value>> {
        let list = value.as_array();
        if list.is_none() {
            self.report(path.to_owned(), RiskTableProblemKind::WrongType { expected: "a list" });
        }
        list
    }

    /// Reads the text of an optional key.
    fn text<'v>(
        &mut self,
        mapping: &'v Map<String, Value>,
        path: &str,
        key: &str,
    ) -> Option<&'v str> {
        let value = mapping.get(key)?;
        let text = value.as_str();
        if text.is_none() {
            self.report(
                format!("{path}.{key}"),
                RiskTableProblemKind::WrongType { expected: "a text" },
            );
        }
        text
    }

    fn parse_name<T: FromStr<Err = UnknownName>>(&mut self, name: &str, path: String) -> Option<T> {
        name.parse()
            .map_err(|unknown| self.report(path, RiskTableProblemKind::UnknownName(unknown)))
            .ok()
    }

    fn report(&mut self, path: String, kind: RiskTableProblemKind) {
        self.problems.push(RiskTableProblem { path, kind });
    }
}

const TABLE_KEYS: &[&str] = &[
    "risk_levels",
    "classifications",
    "version",
    "schema_version",
    "category",
    "tool_type",
    "description",
];
