//! The privileges of a directive as a page for people.

use std::fmt;

use rye_caps::risk::{Classification, Verdict};
use rye_caps::{LayerName, Pattern};
use rye_project::{Need, Use, canonical};

use super::{LayerPrivileges, PatternPrivileges, Privileges, Waits};
use crate::columns::columns;
use crate::one_line::one_line;

impl fmt::Display for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "directive {}", self.id)?;
        match &self.declared_by {
            Some(id) => writeln!(f, "permissions declared by {id}; every layer has to allow")?,
            None => writeln!(f, "permissions declared by nobody, so nothing is allowed")?,
        }
        self.layers.iter().try_for_each(|layer| self.section(f, layer))?;
        self.look_at(f)
    }
}

impl Privileges {
    fn section(&self, f: &mut fmt::Formatter<'_>, layer: &LayerPrivileges) -> fmt::Result {
        writeln!(f, "\n{}", title(layer))?;
        if layer.grants.is_empty() {
            return writeln!(f, "  nothing");
        }
        let rows = layer.grants.iter().map(|row| self.row(layer, row).to_vec());
        let rows: Vec<Vec<String>> = rows.collect();
        columns(&rows).iter().try_for_each(|line| writeln!(f, "  {line}"))
    }

    /// Returns the cells of a row: pattern, risk, consequence, use, and the source of the risk.
    fn row(&self, layer: &LayerPrivileges, row: &PatternPrivileges) -> [String; 5] {
        let is_directive = matches!(layer.name, LayerName::Directive(_));
        let used = match self.uses.iter().find(|(pattern, _)| *pattern == row.pattern) {
            _ if row.returns_outputs => "because outputs are declared".to_owned(),
            Some((pattern, kept)) if is_directive && !self.needs.is_empty() => {
                self.use_text(pattern, kept)
            }
            None if is_directive && !self.needs.is_empty() => self.match_text(&row.pattern),
            _ => String::new(),
        };
        let risk = row.classification.risk.to_string();
        let consequence = match self.refusing_layer(&row.pattern).filter(|_| is_directive) {
            Some(layer) => format!("denied by {layer}"),
            None if is_directive => {
                let told = [consequence(row), waiting(self.waits_of(&row.pattern))];
                let told = told.into_iter().filter(|words| !words.is_empty());
                told.collect::<Vec<_>>().join(", ")
            }
            None => consequence(row).to_owned(),
        };
        [row.pattern.to_string(), risk, consequence, used, risk_source(row)]
    }

    /// Returns the outermost layer that allows nothing of a declared pattern.
    fn refusing_layer(&self, declared: &Pattern) -> Option<&LayerName> {
        let refuses =
            |layer: &&LayerPrivileges| !layer.grants.iter().any(|row| row.pattern.meets(declared));
        self.layers.iter().find(refuses).map(|layer| &layer.name)
    }

    fn use_text(&self, pattern: &Pattern, kept: &Use) -> String {
        match kept {
            Use::Used => format!("used by {}", self.users(std::slice::from_ref(pattern))),
            Use::Narrower(parts) => {
                format!("too wide: {} would do, for {}", list_patterns(parts), self.users(parts))
            }
            Use::Unknown => "a model may need it".to_owned(),
            Use::Unused => "unused".to_owned(),
        }
    }

    /// The wildcard that a tool is granted by, because it matches an alias of it.
    fn match_text(&self, tool: &Pattern) -> String {
        let means = |pattern: &Pattern| canonical(pattern.clone()).contains(tool);
        let wildcard = self.uses.iter().find(|(pattern, _)| means(pattern));
        wildcard.map_or_else(String::new, |(pattern, _)| format!("`{pattern}` matches its alias"))
    }

    /// Returns the names of the steps, hooks and threads that need one of the patterns.
    fn users(&self, patterns: &[Pattern]) -> String {
        let mut names: Vec<String> = Vec::new();
        let is_met = |need: &&Need| patterns.iter().any(|pattern| pattern.meets(&need.pattern));
        let needs = self.needs.iter().filter(is_met);
        for name in needs.flat_map(|need| &need.sources).map(ToString::to_string) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// Writes the section of the remarks.
    fn look_at(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.remarks();
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nto look at")?;
        lines.iter().try_for_each(|line| writeln!(f, "  {}", one_line(line)))
    }

    /// Returns remarks on the permissions, each as a sentence.
    ///
    /// A remark says why the directive may not run. Other remarks name a permission that is unused, too wide
    /// or granted twice, or a need that no permission covers.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let refusal = self.refusal.iter().map(|reason| format!("it may not run: {reason}"));
        let redundant = self.redundant.iter().map(|(inner, outer)| {
            format!("`{inner}` is included in `{outer}`, so that it grants nothing more")
        });
        let unjudged = self
            .unjudged
            .iter()
            .map(|reason| format!("{reason}, so that it cannot be judged by its steps"));
        refusal
            .chain(redundant)
            .chain(self.unused_remarks())
            .chain(self.denials())
            .chain(self.lessened_children())
            .chain(unjudged)
            .collect()
    }

    /// Returns a sentence for each need that a run cannot have: nobody grants it, or a layer takes it away.
    pub(crate) fn denials(&self) -> impl Iterator<Item = String> {
        self.denials.iter().cloned().chain(self.missing_grants())
    }

    /// Returns the [`denied_needs`](Self::denied_needs), each as a sentence that names the source of the
    /// need.
    #[must_use]
    pub fn missing_grants(&self) -> Vec<String> {
        let denial = |need: &Need| {
            let who: Vec<String> = need.sources.iter().map(ToString::to_string).collect();
            format!("`{}` is not granted, and {} needs it", need.pattern, who.join(", "))
        };
        self.denied_needs().map(denial).collect()
    }

    /// Returns a sentence for each permission that a child declares and starts without.
    fn lessened_children(&self) -> impl Iterator<Item = String> {
        self.lessening_needs().map(|need| {
            let who: Vec<String> = need.sources.iter().map(ToString::to_string).collect();
            let who = who.join(", ");
            format!(
                "{who} declares `{}`, which is not granted here: it starts without that",
                need.pattern
            )
        })
    }

    fn unused_remarks(&self) -> Vec<String> {
        if self.needs.is_empty() {
            return match self.declared.is_empty() {
                true => Vec::new(),
                false => vec![
                    "it has no structured steps, so that only threads can tell what it uses; give some with `--transcript`"
                        .to_owned(),
                ],
            };
        }
        let unused = self.uses.iter().filter(|(_, kept)| *kept == Use::Unused);
        let has_wider =
            |pattern: &Pattern| self.redundant.iter().any(|(inner, _)| inner == pattern);
        let is_met = |pattern: &Pattern| self.needs.iter().any(|need| pattern.meets(&need.pattern));
        unused
            .filter(|(pattern, _)| !has_wider(pattern))
            .map(|(pattern, _)| match is_met(pattern) {
                true => format!(
                    "nothing known needs more of `{pattern}` than narrower permissions grant"
                ),
                false => format!("nothing known uses `{pattern}`"),
            })
            .collect()
    }
}

fn title(layer: &LayerPrivileges) -> String {
    match layer.signed.as_slice() {
        [] => layer.name.to_string(),
        signed => format!("{}, which signed {}", layer.name, signed.join(", ")),
    }
}

/// The reason why it has its risk, and why that was accepted.
fn risk_source(row: &PatternPrivileges) -> String {
    let classification: &Classification = &row.classification;
    let by = match (&classification.by, &classification.description) {
        (Some(by), Some(description)) => format!("by `{by}`: {description}"),
        (Some(by), None) => format!("by `{by}`"),
        (None, _) => "classified by nothing".to_owned(),
    };
    match row.finding.as_ref().and_then(|finding| finding.acknowledged.as_deref()) {
        Some(reason) => format!("{by}; acknowledged: {reason}"),
        None => by,
    }
}

fn consequence(row: &PatternPrivileges) -> &'static str {
    let Some(finding) = &row.finding else { return "" };
    match (finding.verdict, &finding.acknowledged) {
        (_, Some(_)) => "acknowledged",
        (Verdict::Allow, None) => "allowed",
        (Verdict::Warn, None) => "runs with a warning",
        (Verdict::Block, None) => "REFUSED",
    }
}

fn waiting(waits: Waits) -> &'static str {
    match waits {
        Waits::None => "",
        Waits::Some => "some calls wait for a decision",
        Waits::Each => "each call waits for a decision",
    }
}

fn list_patterns(patterns: &[Pattern]) -> String {
    let quoted: Vec<String> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
    quoted.join(", ")
}
