//! Tool calls assembled from pieces, which are assigned by index if the server sends one (WIRES 1.2).

use rye_thread::{Delta, DeltaSink};
use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::answer::{MOST_CALLS, TOO_MANY_CALLS};
use crate::raw::{Few, RawObject, raw, text_value};

/// The calls, in the order of their first pieces.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Default)]
struct Call {
    index: Option<u64>,
    object: RawObject,
    function: RawObject,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn grow(
        &mut self,
        pieces: &RawValue,
        deltas: &dyn DeltaSink,
    ) -> serde_json::Result<()> {
        let pieces: Option<Few<RawObject>> = serde_json::from_str(pieces.get())?;
        for mut piece in pieces.unwrap_or_default().0 {
            let index = piece.get("index").and_then(|index| serde_json::from_str(index.get()).ok());
            let function: Option<RawObject> = match piece.get("function") {
                Some(function) => serde_json::from_str(function.get())?,
                None => None,
            };
            piece.remove("index");
            let call = self.place(index, &piece, function.as_ref())?;
            call.merge(piece)?;
            call.merge_function(function.unwrap_or_default(), deltas)?;
        }
        Ok(())
    }

    /// Returns the call that a piece belongs to: that of its index, else the last one. A piece with another
    /// id starts a new call.
    ///
    /// Returns an error if there are too many calls.
    fn place(
        &mut self,
        index: Option<u64>,
        piece: &RawObject,
        function: Option<&RawObject>,
    ) -> serde_json::Result<&mut Call> {
        let id = piece.text("id").filter(|id| !id.is_empty());
        let names = function
            .and_then(|function| function.text("name"))
            .is_some_and(|name| !name.is_empty());
        let fits = |call: &Call| {
            let old = call.object.text("id").filter(|id| !id.is_empty());
            let is_other = matches!((&id, &old), (Some(id), Some(old)) if id != old);
            let begins_again = index.is_none() && id.is_none() && names && !call.name.is_empty();
            !is_other && !begins_again
        };
        let found = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index),
            None => self.0.len().checked_sub(1),
        };
        let found = found.filter(|&at| self.0.get(at).is_some_and(fits));
        if found.is_none() && MOST_CALLS <= self.0.len() {
            return Err(serde_json::Error::custom(TOO_MANY_CALLS));
        }
        let at = found.unwrap_or_else(|| {
            self.0.push(Call { index, ..Call::default() });
            self.0.len() - 1
        });
        Ok(self.0.get_mut(at).expect("because the place was just found or made"))
    }

    /// Returns the calls as a whole response has them.
    pub(super) fn into_raw(self) -> Vec<Box<RawValue>> {
        self.0.into_iter().map(Call::into_raw).collect()
    }
}

impl Call {
    /// Adds the members of a piece. A later value counts only if there was none, because some servers repeat
    /// id and type in every piece.
    fn merge(&mut self, piece: RawObject) -> serde_json::Result<()> {
        for (name, value) in piece.members() {
            let is_empty = matches!(value.get(), "null" | "\"\"");
            if self.object.get(&name).is_none() || (self.object.lacks(&name) && !is_empty) {
                self.object.grow(&name, value)?;
            }
        }
        Ok(())
    }

    fn merge_function(
        &mut self,
        function: RawObject,
        deltas: &dyn DeltaSink,
    ) -> serde_json::Result<()> {
        for (member, value) in function.members() {
            let text: Option<String> = serde_json::from_str(value.get()).ok();
            match (member.as_str(), text) {
                ("name", Some(name)) => self.merge_name(&name, deltas),
                ("arguments", Some(text)) => self.arguments.push_str(&text),
                (_, _) if value.get() == "null" => continue,
                _ => {
                    self.function.grow(&member, value)?;
                    continue;
                }
            }
            if self.function.get(&member).is_none() {
                self.function.set_text(&member, "");
            }
        }
        Ok(())
    }

    /// Adds a piece of the name. The same name again is a repetition; any other text continues the name.
    fn merge_name(&mut self, name: &str, deltas: &dyn DeltaSink) {
        if self.name.is_empty() && !name.is_empty() {
            deltas.delta(Delta::Call(name));
        }
        if self.name != name {
            self.name.push_str(name);
        }
    }

    fn into_raw(self) -> Box<RawValue> {
        let Self { mut object, mut function, name, arguments, .. } = self;
        for (member, text) in [("name", name), ("arguments", arguments)] {
            if function.text(member).is_some() {
                function.set(member, text_value(&text));
            }
        }
        object.set("function", raw(&function));
        object.into_raw()
    }
}
