//! The directives that a thread may start, each prepared as a child of it would be (SPEC 10.9).

use rye_caps::{Capability, Kind, Layer, LayerName, Pattern, Primary};
use rye_project::{
    Plan, PlanRequest, PrepareError, Project, limit_of_start, return_capability, with_causes,
};
use rye_resolve::ItemId;
use rye_types::{ItemKind, LimitSet};

/// A directive that the authority allows to start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartFacts {
    /// The directive.
    pub id: ItemId,
    /// The reason why a thread of it would not begin all the same, as a sentence.
    pub refused: Option<String>,
    /// The permissions that it declares and that it would not have as a child of this one.
    pub lost: Vec<LostFacts>,
}

/// A permission that a directive declares and that a layer above it denies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostFacts {
    /// The declared pattern.
    pub pattern: Pattern,
    /// The layer that denies a part of the pattern, in words.
    pub denied_by: String,
}

impl StartFacts {
    /// Lists the directives that a thread of this one may start, sorted by id. Each is resolved and verified,
    /// and none begins.
    ///
    /// # Errors
    ///
    /// The function fails if an item of the directive itself cannot be found, verified or read. A problem of a
    /// directive in the list is a part of its row.
    pub fn list(project: &Project, request: &PlanRequest) -> Result<Vec<Self>, PrepareError> {
        let parent = project.plan(request)?;
        if parent.authority.closed_by(Primary::Execute, Kind::Directive).is_some() {
            return Ok(Vec::new());
        }
        let listed = project.library().survey(ItemKind::Directive).items.into_iter();
        let allowed = listed.map(|listed| listed.id).filter(|id| may_start(&parent, id));
        Ok(allowed.map(|id| Self::of(project, &parent, id)).collect())
    }

    fn of(project: &Project, parent: &Plan, id: ItemId) -> Self {
        let request = parent.child_request(id.clone());
        let child = project.plan(&request).and_then(|child| {
            child.refusal().and_then(|()| child.refuse_drafts(None)).map(|()| child)
        });
        match (child, used_up(&parent.limits.limits)) {
            (Err(error), _) => Self { id, refused: Some(with_causes(&error)), lost: Vec::new() },
            (Ok(child), refused) => Self { id, refused, lost: lost_permissions(&child) },
        }
    }
}

fn may_start(parent: &Plan, id: &ItemId) -> bool {
    let capability = Capability::new(Primary::Execute, Kind::Directive, id.as_str());
    capability.is_ok_and(|capability| parent.authority.allows(&capability))
}

/// The limit that lets no thread begin below this one.
fn used_up(limits: &LimitSet) -> Option<String> {
    let name = limit_of_start(limits, 0)?;
    Some(format!("the limit `{name}` of this directive is 0"))
}

fn lost_permissions(child: &Plan) -> Vec<LostFacts> {
    let Some((own, above)) = child.authority.layers().split_last() else { return Vec::new() };
    let returning = Pattern::exactly(&return_capability());
    // A child returns its outputs to the call that started it, whatever its parent may call (SPEC 9.2).
    let declared = own.grant().patterns().iter().filter(|pattern| **pattern != returning);
    let lost = declared.filter_map(|pattern| {
        let denies = |layer: &&Layer| {
            layer.grant().covers(&std::iter::once(pattern.clone()).collect()).is_err()
        };
        let layer = above.iter().find(denies)?;
        Some(LostFacts { pattern: pattern.clone(), denied_by: who(layer.name()) })
    });
    lost.collect()
}

fn who(name: &LayerName) -> String {
    match name {
        LayerName::Thread(_) => "this directive".to_owned(),
        name => name.to_string(),
    }
}
