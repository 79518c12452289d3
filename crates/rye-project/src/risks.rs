//! Risks of a grant that no directive declares.

use rye_caps::risk::{Acknowledgement, Finding, Verdict};
use rye_caps::{Capability, Grant, Invocation, Kind, Pattern, Primary};
use rye_resolve::ItemId;
use rye_types::ItemKind;

use crate::aliases::{canonical, canonical_grant};
use crate::config::{RISK_FILE, risk_table};
use crate::plan::{PrepareError, invocation};
use crate::project::Project;

/// The risks of a grant, each as a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Risks {
    /// Findings that are warnings only.
    pub warned: Vec<String>,
    /// Findings that forbid the grant unless the operator acknowledges them.
    pub blocked: Vec<String>,
}

impl Project {
    /// Compares a grant with the risk table of the spaces, as for the grant of a directive (SPEC 9.6).
    ///
    /// It is for grants whose layer [judges functions](rye_caps::LayerName::judges_functions), as that of a
    /// server's clients does. A second name for a function then allows nothing that the grant does not cover
    /// by the function's own name.
    ///
    /// # Errors
    ///
    /// The method fails if the table is refused or broken.
    pub fn risks(
        &self,
        grant: &Grant,
        acknowledged: &[Acknowledgement],
    ) -> Result<Risks, PrepareError> {
        let config = self.library.config(RISK_FILE)?;
        let table = risk_table(config.as_ref())?;
        let findings = table.assess(&canonical_grant(grant), &[], acknowledged);
        let of = |verdict: Verdict| {
            let those =
                findings.iter().filter(move |finding: &&Finding| finding.verdict == verdict);
            those.map(Finding::statement).collect()
        };
        Ok(Risks { warned: of(Verdict::Warn), blocked: of(Verdict::Block) })
    }

    /// The patterns of a grant to clients that cover nothing which is there: neither an item nor a function behind a tool. What may
    /// be signed is left out, because it may be still to come.
    #[must_use]
    pub fn unmatched_patterns<'a>(&self, patterns: &'a [Pattern]) -> Vec<&'a Pattern> {
        let asked = patterns.iter().filter(|pattern| !pattern.as_str().starts_with("rye.sign."));
        let asked: Vec<&Pattern> = asked.collect();
        if asked.is_empty() {
            return asked;
        }
        let known = self.known_capabilities();
        let is_known = |pattern: &Pattern| known.iter().any(|known| pattern.matches(known));
        asked
            .into_iter()
            .filter(|pattern| !canonical((*pattern).clone()).iter().any(is_known))
            .collect()
    }

    /// Returns the pattern that one which covers nothing was probably meant to be: by the id of an item alone, or by a similar
    /// spelling.
    #[must_use]
    pub fn nearest_pattern(&self, pattern: &Pattern) -> Option<String> {
        let known = self.known_capabilities();
        let text = pattern.as_str().replace('/', ".");
        let is_meant =
            |known: &&Capability| known.primary() == Primary::Execute && known.dotted_id() == text;
        if let Some(meant) = known.iter().find(is_meant) {
            return Some(meant.to_string());
        }
        let folder = |known: &Capability| Some(format!("{}.*", known.as_str().rsplit_once('.')?.0));
        let spellings: Vec<String> = match text.ends_with(".*") {
            true => known.iter().filter_map(folder).collect(),
            false => known.iter().map(ToString::to_string).collect(),
        };
        // The ids alone are compared where the operation and the kind fit, because their long names would make all ids similar.
        let lead = text.splitn(4, '.').take(3).map(|part| format!("{part}.")).collect::<String>();
        let ids: Vec<&str> = spellings.iter().filter_map(|it| it.strip_prefix(&lead)).collect();
        match text.strip_prefix(&lead) {
            Some(id) if !ids.is_empty() => {
                rye_parse::nearest_name(id, ids.iter().copied()).map(|near| lead + near)
            }
            _ => rye_parse::nearest_name(&text, spellings.iter().map(String::as_str))
                .map(str::to_owned),
        }
    }

    /// Returns the tools that a grant to clients covers without their functions. No client could call them (SPEC 9.6b). Each
    /// has the smallest patterns that the grant lacks.
    #[must_use]
    pub fn uncallable(&self, grant: &Grant) -> Vec<(ItemId, Vec<Pattern>)> {
        let grant = canonical_grant(grant);
        let lacks = |call: &Invocation| -> Vec<Pattern> {
            let functions = call.functions().iter();
            functions.filter(|function| !grant.allows(function)).map(Pattern::exactly).collect()
        };
        let covered = self.invocations(|item| grant.allows(item));
        let uncallable = covered.into_iter().map(|(id, call)| (id, lacks(&call)));
        uncallable.filter(|(_, lacks)| !lacks.is_empty()).collect()
    }

    /// The capabilities for each item that is there, and for each function behind a tool.
    fn known_capabilities(&self) -> Vec<Capability> {
        let functions =
            self.invocations(|_| true).into_iter().flat_map(|(_, call)| call.functions().to_vec());
        self.item_capabilities().into_iter().chain(functions).collect()
    }

    /// Returns the capabilities for each existing item, one for each operation.
    #[must_use]
    pub fn item_capabilities(&self) -> Vec<Capability> {
        let kinds = [
            (Kind::Directive, ItemKind::Directive),
            (Kind::Knowledge, ItemKind::Knowledge),
            (Kind::Tool, ItemKind::Tool),
        ];
        let mut capabilities = Vec::new();
        for (kind, items) in kinds {
            for item in self.library.survey(items).items {
                let capability = |primary| Capability::new(primary, kind, item.id.as_str()).ok();
                capabilities.extend(Primary::ALL.iter().copied().filter_map(capability));
            }
        }
        capabilities
    }

    /// The calls of the tools that can be had and that `is_meant` takes by their own capability.
    fn invocations(&self, is_meant: impl Fn(&Capability) -> bool) -> Vec<(ItemId, Invocation)> {
        let tools = self.library.survey(ItemKind::Tool).items.into_iter().map(|item| item.id);
        let meant = tools.filter(|id| {
            let capability = Capability::new(Primary::Execute, Kind::Tool, id.as_str());
            capability.is_ok_and(|capability| is_meant(&capability))
        });
        let call = |id: ItemId| {
            let tool = self.library.tool(&id).ok()?;
            Some((id.clone(), invocation(&id, tool.content.value()).ok()?))
        };
        meant.filter_map(call).collect()
    }
}
