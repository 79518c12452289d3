//! Tool calls assembled from pieces, which are assigned by index if the server sends one (WIRES 1.2).

use rye_thread::{Delta, DeltaSink};
use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::answer::{MOST_CALLS, TOO_MANY_CALLS};
use crate::halves::{self, Pieces};
use crate::raw::{Few, RawObject, is_signed, raw, text_value};
use crate::wire::{DecodeError, in_places};

/// The calls, in the order of their first pieces.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Default)]
struct Call {
    index: Option<u64>,
    object: RawObject,
    function: RawObject,
    name: String,
    arguments: Pieces,
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
            self.add(index, piece, function, deltas)?;
        }
        Ok(())
    }

    /// Adds a piece of the function of a call that has nothing else.
    pub(super) fn grow_function(
        &mut self,
        function: &RawValue,
        deltas: &dyn DeltaSink,
    ) -> serde_json::Result<()> {
        let function = serde_json::from_str(function.get())?;
        self.add(None, RawObject::default(), Some(function), deltas)
    }

    fn add(
        &mut self,
        index: Option<u64>,
        piece: RawObject,
        function: Option<RawObject>,
        deltas: &dyn DeltaSink,
    ) -> serde_json::Result<()> {
        let call = self.place(index, &piece, function.as_ref())?;
        call.merge(piece)?;
        call.merge_function(function.unwrap_or_default(), deltas)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has_arguments(&self) -> bool {
        self.0.iter().any(|call| !call.arguments.is_empty())
    }

    /// Returns `true` if a list of whole calls has the names and the arguments of these.
    pub(super) fn are_repeated_by(&self, calls: &RawValue) -> bool {
        let calls: Few<RawObject> = serde_json::from_str(calls.get()).unwrap_or_default();
        let is_same = |(old, new): (&Call, &RawObject)| {
            let function = new.get("function").map(RawObject::of).unwrap_or_default();
            function.text("name").as_ref() == Some(&old.name)
                && function.text("arguments").as_deref() == Some(old.arguments.as_str())
        };
        calls.0.len() == self.0.len() && self.0.iter().zip(&calls.0).all(is_same)
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
    pub(super) fn into_raw(self) -> Result<Vec<Box<RawValue>>, DecodeError> {
        let place =
            |(index, call): (usize, Call)| call.into_raw().ok_or(DecodeError::Damaged { index });
        let calls = in_places(self.0, |call| call.index);
        calls.into_iter().enumerate().map(place).collect()
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
            match member.as_str() {
                _ if value.get() == "null" => {}
                "arguments" => self.merge_arguments(value),
                "name" if value.get().starts_with('"') => {
                    self.merge_name(&halves::text(value.get()).unwrap_or_default(), deltas);
                    if self.function.get(&member).is_none() {
                        self.function.set_text(&member, "");
                    }
                }
                _ => self.function.grow(&member, value)?,
            }
        }
        Ok(())
    }

    /// Adds a piece of the arguments, which is text, or the object itself. If an object comes before or after
    /// others, all are read as one text.
    fn merge_arguments(&mut self, value: Box<RawValue>) {
        match self.function.get("arguments") {
            None if !value.get().starts_with('"') => return self.function.set("arguments", value),
            Some(old) if !old.get().starts_with('"') => self.arguments.push_str(old.get()),
            _ => {}
        }
        self.function.set_text("arguments", "");
        if self.arguments.push(&value).is_none() {
            self.arguments.push_str(value.get());
        }
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

    /// Returns the call, or `None` if it is signed and its arguments have half of a character.
    fn into_raw(self) -> Option<Box<RawValue>> {
        let Self { mut object, mut function, name, arguments, .. } = self;
        let (arguments, is_mended) = arguments.finish();
        for (member, text) in [("name", name), ("arguments", arguments)] {
            if function.text(member).is_some() {
                function.set(member, text_value(&text));
            }
        }
        object.set("function", raw(&function));
        (!is_mended || !is_signed(&object)).then(|| object.into_raw())
    }
}
