//! A subscriber that keeps the spans of one thread of the program, and shows them as a tree.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// A subscriber that is not alone is asked by threads that do not know it, too. Alone, it would not hear of a span whose
/// place in the code another test came by first.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Keeper(Arc::default())));

/// What was told of one span.
#[derive(Default)]
struct Told {
    parent: Option<u64>,
    is_event: bool,
    fields: BTreeMap<String, String>,
}

#[derive(Default)]
struct Kept {
    /// In the order in which they were made; an id is the place, counted from one.
    told: Vec<Told>,
    entered: Vec<u64>,
}

/// What is told on this thread of the program for as long as this lives.
pub(crate) struct Spans {
    kept: Arc<Mutex<Kept>>,
    _guard: DefaultGuard,
}

impl Spans {
    pub(crate) fn here() -> Self {
        LazyLock::force(&ANOTHER);
        let kept = Arc::default();
        let guard = tracing::subscriber::set_default(Keeper(Arc::clone(&kept)));
        Self { kept, _guard: guard }
    }

    /// Each span with its fields on a line, children below their parents and further in.
    pub(crate) fn tree(&self) -> String {
        let kept = self.kept.lock().unwrap();
        let mut tree = String::new();
        write(&kept.told, None, 0, &mut tree);
        tree
    }
}

fn write(told: &[Told], parent: Option<u64>, depth: usize, tree: &mut String) {
    for (id, span) in (1..).zip(told).filter(|(_, span)| span.parent == parent) {
        let title = if span.is_event { "message" } else { "otel.name" };
        let name = span.fields.get(title).map_or("POST", String::as_str);
        let fields = span.fields.iter().filter(|(field, _)| *field != title);
        let fields: Vec<String> = fields.map(|(field, value)| format!("{field}={value}")).collect();
        let dash = if span.is_event { "- " } else { "" };
        writeln!(tree, "{}{dash}{name}: {}", "  ".repeat(depth), fields.join(" ")).unwrap();
        write(told, Some(id), depth + 1, tree);
    }
}

fn place(id: u64) -> usize {
    usize::try_from(id).unwrap() - 1
}

struct Keeper(Arc<Mutex<Kept>>);

impl Keeper {
    fn keep(&self, told: Told) -> u64 {
        let mut kept = self.0.lock().unwrap();
        let parent = told.parent.or(kept.entered.last().copied());
        kept.told.push(Told { parent, ..told });
        u64::try_from(kept.told.len()).unwrap()
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rye_")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let parent = span.parent().map(Id::into_u64);
        let mut told = Told { parent, ..Told::default() };
        span.record(&mut told);
        Id::from_u64(self.keep(told))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut kept = self.0.lock().unwrap();
        values.record(&mut kept.told[place(span.into_u64())]);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut told = Told { is_event: true, ..Told::default() };
        event.record(&mut told);
        self.keep(told);
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let left = self.0.lock().unwrap().entered.pop();
        assert_eq!(left, Some(span.into_u64()), "spans are left in turn");
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        self.fields.insert(field.name().to_owned(), value.trim_matches('"').to_owned());
    }
}
