//! Output items assembled from the events about them, found by id and else by place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::decode::shape;
use super::item::{Address, Item};
use crate::halves;
use crate::raw::{MOST_ENTRIES, RawObject, too_many_entries};
use crate::wire::{StreamError, in_places, order};

/// The items of a response, in the order in which they were announced.
#[derive(Default)]
pub(super) struct Items {
    items: Vec<Item>,
    /// The index of the item with an id.
    ids: BTreeMap<String, usize>,
    /// The index of the last item with a place.
    places: BTreeMap<u64, usize>,
}

/// The members of an item that tell which one it is.
#[derive(Default, Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
}

impl Items {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn are_complete(&self) -> bool {
        !self.items.is_empty() && self.items.iter().all(Item::is_complete)
    }

    /// Fails if what was heard of an item does not fit together.
    pub(super) fn check_heard(&self) -> Result<(), &'static str> {
        self.items.iter().try_for_each(Item::check_heard)
    }

    /// Returns the item that a piece belongs to: that with its id, else the open one at its place, else a new one.
    pub(super) fn at(&mut self, address: Address<'_>) -> Result<&mut Item, StreamError> {
        match self.find(&address, Item::is_open) {
            Some(at) => Ok(self.item(at)),
            None => self.add(address),
        }
    }

    /// Returns the item whose whole text was sent, which may be done.
    pub(super) fn any_at(&mut self, address: Address<'_>) -> Result<&mut Item, StreamError> {
        match self.find(&address, |_| true) {
            Some(at) => Ok(self.item(at)),
            None => self.add(address),
        }
    }

    /// Reads an item that begins.
    pub(super) fn begin(
        &mut self,
        address: Address<'_>,
        object: RawObject,
    ) -> Result<usize, StreamError> {
        let found = self.find(&address, |item| item.is_open() && !item.has_begun());
        let size = object.size();
        let item = match found {
            Some(at) => self.item(at),
            None => self.add(address)?,
        };
        item.begin(object);
        Ok(size)
    }

    /// Reads an item that is done. Returns the number of bytes that are kept more.
    pub(super) fn end(
        &mut self,
        address: Address<'_>,
        done: &RawValue,
        object: &RawObject,
    ) -> Result<usize, StreamError> {
        let is_repeated = |item: &Item| item.done().is_some_and(|old| old.get() == done.get());
        let found = self.find(&address, |item| item.done().is_none() || is_repeated(item));
        let item = match found {
            Some(at) => self.item(at),
            None => self.add(address)?,
        };
        // Some servers send the same item once more.
        if is_repeated(item) {
            return Ok(0);
        }
        item.end(done, object).map_err(order)
    }

    /// Reads the items of the end of the response, which repeat those before it. Returns the number of bytes that
    /// are kept more.
    pub(super) fn learn(&mut self, whole: &[&RawValue]) -> Result<usize, StreamError> {
        let mut kept = 0;
        let arrived = self.items.len();
        let mut repeated = BTreeSet::new();
        for (place, item) in whole.iter().enumerate() {
            let Head { id, kind } = serde_json::from_str(item.get()).unwrap_or_default();
            let id = id.and_then(|id| halves::borrowed_text(id.get())).filter(|id| !id.is_empty());
            let kind = kind.and_then(|kind| halves::text(kind.get()));
            let place = u64::try_from(place).unwrap_or(u64::MAX);
            let address = Address { id, place: Some(place) };
            let is_alike = |old: &Item| old.kind() == kind.as_deref();
            let by_id = address.id.as_ref().and_then(|id| self.ids.get(&**id).copied());
            let by_place = self.places.get(&place).copied();
            let by_place = by_place.filter(|at| self.items.get(*at).is_some_and(is_alike));
            let found = by_id.or(by_place);
            kept += match found.filter(|at| repeated.insert(*at)) {
                Some(at) => self.item(at).learn(item).map_err(order)?,
                // Items that only the end has.
                None if arrived < whole.len() => {
                    let new = self.add(address)?;
                    new.end(item, &RawObject::of(item)).map_err(order)?
                }
                None => 0,
            };
        }
        Ok(kept)
    }

    /// Returns the items in the order of their places. Items that share a place or lack one stay in their order.
    pub(super) fn into_raw(self) -> Vec<Box<RawValue>> {
        let items = in_places(self.items, |item| Some(item.place()));
        items.into_iter().map(Item::into_raw).collect()
    }

    fn item(&mut self, at: usize) -> &mut Item {
        self.items.get_mut(at).expect("because items are not removed")
    }

    fn find(&self, address: &Address<'_>, fits: impl Fn(&Item) -> bool) -> Option<usize> {
        // Nearly all events are about the last item.
        let last = self.items.last().filter(|last| last.has_address(address));
        if last.is_some() {
            return self.items.len().checked_sub(1);
        }
        let by_id = address.id.as_ref().and_then(|id| self.ids.get(&**id).copied());
        // Compatible servers may give one id to several items.
        let is_there = |at: &usize| {
            let place = self.items.get(*at).map(Item::place);
            address.place.is_none() || place == address.place
        };
        let by_id = by_id.filter(is_there);
        let fits = |at: &usize| self.items.get(*at).is_some_and(&fits);
        let by_place = || match address.place {
            Some(place) => self.places.get(&place).copied().filter(fits),
            // Compatible servers may omit the place and send the items in order.
            None => self.items.len().checked_sub(1).filter(fits),
        };
        by_id.or_else(by_place)
    }

    fn add(&mut self, address: Address<'_>) -> Result<&mut Item, StreamError> {
        if MOST_ENTRIES <= self.items.len() {
            return Err(shape(too_many_entries()).into());
        }
        let at = self.items.len();
        let Address { id, place } = address;
        let id = id.map(Cow::into_owned);
        // Items without a place are sent in order.
        let next = self.places.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
        let place = place.unwrap_or(next);
        self.places.insert(place, at);
        if let Some(id) = &id {
            self.ids.insert(id.clone(), at);
        }
        self.items.push(Item::new(id, place));
        Ok(self.item(at))
    }
}
