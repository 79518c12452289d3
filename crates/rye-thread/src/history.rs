//! The messages of a conversation, which only grow.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Message;

/// The messages of a conversation, oldest first. Clones share them, and messages are added only at the end.
///
/// No message is ever changed or removed, so a value computed from the first messages stays true. [`History::note`]
/// keeps such a value beside them. So a conversation of many turns need not be encoded again for each turn.
///
/// ```
/// use rye_thread::{History, Message};
///
/// let mut history = History::default();
/// history.push(Message::User { text: "Say hello.".to_owned() });
/// let before = history.clone();
/// history.push(Message::User { text: "Be brief.".to_owned() });
/// assert_eq!((before.len(), history.len()), (1, 2));
/// ```
#[derive(Clone, Default)]
pub struct History(Arc<Shared>);

/// The shared messages. They grow only while there is a single clone, so all clones see the same messages.
#[derive(Default)]
struct Shared {
    messages: Vec<Message>,
    note: Mutex<Option<Box<dyn Any + Send>>>,
}

impl History {
    /// Adds a message at the end, for this clone alone.
    ///
    /// If the messages are shared with another clone, they are copied first, without the note.
    pub fn push(&mut self, message: Message) {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.messages.push(message);
            return;
        }
        let mut messages = Vec::with_capacity(self.0.messages.len() + 1);
        messages.extend_from_slice(&self.0.messages);
        messages.push(message);
        *self = Self::from(messages);
    }

    /// Gives access to a value that was computed from the first messages, for use when there are more.
    ///
    /// The value must follow from the messages and say for how many of them it is true. There is one note: a note of
    /// another type replaces it, so a caller cannot rely on finding its value.
    pub fn note<T: Any + Default + Send, R>(&self, with: impl FnOnce(&mut T) -> R) -> R {
        let mut note = self.0.note.lock().unwrap_or_else(|poisoned| {
            // A panic may have left an incomplete note.
            let mut note = PoisonError::into_inner(poisoned);
            *note = None;
            note
        });
        if let Some(kept) = note.as_mut().and_then(|kept| kept.downcast_mut::<T>()) {
            return with(kept);
        }
        let mut kept = T::default();
        let made = with(&mut kept);
        *note = Some(Box::new(kept));
        made
    }
}

impl Deref for History {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.0.messages
    }
}

impl<'a> IntoIterator for &'a History {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Vec<Message>> for History {
    fn from(messages: Vec<Message>) -> Self {
        Self(Arc::new(Shared { messages, note: Mutex::default() }))
    }
}

impl FromIterator<Message> for History {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        messages.into_iter().collect::<Vec<_>>().into()
    }
}

/// Lists the messages.
impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    fn texts(history: &History) -> Vec<&str> {
        let texts = history.iter().map(|message| match message {
            Message::User { text } => text.as_str(),
            _ => "",
        });
        texts.collect()
    }

    /// Brings the note up to date. Returns the numbers of messages that it covered before and covers now.
    fn noted(history: &History) -> (usize, usize) {
        history.note(|known: &mut usize| (std::mem::replace(known, history.len()), history.len()))
    }

    #[test]
    fn a_note_stays_with_the_history_that_grows() {
        let mut history: History = [user("a")].into_iter().collect();
        assert_eq!(noted(&history), (0, 1));
        history.push(user("b"));
        assert_eq!(noted(&history), (1, 2));
        assert_eq!(noted(&history.clone()), (2, 2), "who shares the messages shares the note");
    }

    #[test]
    fn histories_that_part_have_no_note_in_common() {
        let mut first = History::from(vec![user("a")]);
        let mut second = first.clone();
        assert_eq!(noted(&first), (0, 1));
        second.push(user("b"));
        assert_eq!(noted(&second), (0, 2), "it begins anew");
        first.push(user("c"));
        assert_eq!(noted(&first), (1, 2), "its own messages are still those of the note");
        assert_eq!((texts(&first), texts(&second)), (vec!["a", "c"], vec!["a", "b"]));
    }

    #[test]
    fn a_note_that_was_half_made_is_not_kept() {
        let history = History::from(vec![user("a")]);
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            history.note(|known: &mut usize| {
                *known = 7;
                panic!("half made");
            });
        }));
        assert!(broken.is_err());
        assert_eq!(noted(&history), (0, 1));
        assert!(
            history.note(|other: &mut String| other.is_empty()),
            "another type is another note"
        );
        assert_eq!(noted(&history), (0, 1));
    }
}
