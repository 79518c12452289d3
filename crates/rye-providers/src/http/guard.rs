//! Keeps the provider's key out of the answers.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rye_thread::{Charge, Delta, DeltaSink, Reply};

/// Returns `true` if an answer contains the key, in any spelling.
///
/// The whole answer is checked, with its JSON escapes read, because the thread records all of it.
pub(super) fn repeats(reply: &Reply, secret: &str) -> bool {
    let texts = [reply.raw().get(), &reply.text, &reply.reasoning];
    let in_call = |call: &rye_thread::ToolCall| {
        let in_arguments = |arguments: &serde_json::Value| arguments.to_string().contains(secret);
        call.id.contains(secret)
            || call.name.contains(secret)
            || call.arguments.as_ref().is_ok_and(in_arguments)
    };
    texts.iter().any(|text| spells(text, secret)) || reply.calls.iter().any(in_call)
}

/// The largest nesting of JSON in JSON strings that is checked. Arguments of calls are such strings.
const MOST_READINGS: usize = 8;

/// Returns `true` if a text contains the key, directly or after its escapes are read up to [`MOST_READINGS`]
/// times.
fn spells(text: &str, secret: &str) -> bool {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MOST_READINGS {
        if text.contains(secret) {
            return true;
        }
        if !text.contains('\\') {
            return false;
        }
        text = Cow::Owned(unescape(&text));
    }
    text.contains(secret)
}

/// Reads the escapes of JSON strings anywhere in the text, and leaves the rest unchanged.
fn unescape(text: &str) -> String {
    let mut read = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => break,
            [b'\\', b'u', digits @ ..] => match code(digits) {
                Some(read_as) => {
                    read.extend(read_as.encode_utf8(&mut [0; 4]).bytes());
                    digits.get(4..).unwrap_or_default()
                }
                None => {
                    read.push(b'u');
                    digits
                }
            },
            [b'\\', letter, more @ ..] | [letter, more @ ..] => {
                read.push(*letter);
                more
            }
        };
    }
    String::from_utf8(read).expect("because whole characters stand for whole escapes")
}

/// Returns the character of four hexadecimal digits.
fn code(digits: &[u8]) -> Option<char> {
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

/// A sink that forwards the pieces of an answer without the key. Text that may be the start of the key is
/// held back.
pub(super) struct Guard<'a> {
    secret: Option<&'a str>,
    deltas: &'a dyn DeltaSink,
    held: Mutex<Held>,
}

/// Received text that is held back because the key may begin with it.
#[derive(Default)]
struct Held {
    is_reasoning: bool,
    text: String,
    /// `true` once the answer contained the key; nothing more is forwarded.
    is_closed: bool,
}

impl<'a> Guard<'a> {
    pub(super) fn new(secret: Option<&'a str>, deltas: &'a dyn DeltaSink) -> Self {
        Self { secret, deltas, held: Mutex::default() }
    }

    /// Forwards the text that was held back, at the end of the answer.
    pub(super) fn end(&self) {
        self.let_go(&mut self.lock_held());
    }

    fn lock_held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_go(&self, held: &mut Held) {
        let text = std::mem::take(&mut held.text);
        self.tell(held.is_reasoning, &text);
    }

    fn tell(&self, is_reasoning: bool, text: &str) {
        match text {
            "" => {}
            text if is_reasoning => self.deltas.delta(Delta::Reasoning(text)),
            text => self.deltas.delta(Delta::Text(text)),
        }
    }

    fn take(&self, secret: &str, is_reasoning: bool, piece: &str) {
        let mut held = self.lock_held();
        if held.is_reasoning != is_reasoning {
            self.let_go(&mut held);
            held.is_reasoning = is_reasoning;
        }
        held.text.push_str(piece);
        if held.text.contains(secret) {
            (held.is_closed, held.text) = (true, String::new());
            return;
        }
        let is_beginning = |length: &usize| {
            secret.get(..*length).is_some_and(|beginning| held.text.ends_with(beginning))
        };
        let kept = (1..secret.len()).rev().find(is_beginning).unwrap_or_default();
        let end = held.text.len() - kept;
        let rest = held.text.split_off(end);
        let told = std::mem::replace(&mut held.text, rest);
        self.tell(is_reasoning, &told);
    }
}

impl DeltaSink for Guard<'_> {
    fn delta(&self, delta: Delta<'_>) {
        let Some(secret) = self.secret else { return self.deltas.delta(delta) };
        if self.lock_held().is_closed {
            return;
        }
        match delta {
            Delta::Text(text) => self.take(secret, false, text),
            Delta::Reasoning(text) => self.take(secret, true, text),
            Delta::Call(name) if name.contains(secret) => self.lock_held().is_closed = true,
            other => {
                self.end();
                self.deltas.delta(other);
            }
        }
    }

    fn charge(&self, charge: Charge) {
        self.deltas.charge(charge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row is a text of the record, and whether it contains the key once JSON is read.
    #[test]
    fn the_key_is_known_in_every_spelling() {
        let rows = [
            ("is sk-abcabd", true),
            (r#"{"unread":"sk-\u0061bc\u0061bd"}"#, true),
            (r#"{"unread":"\u0073\u006B\u002d\u0061bcabd"}"#, true),
            (r#"{"sk-abc\u0061bd":1}"#, true),
            (r#"{"arguments":"{\"a\":\"sk-\\u0061bcabd\"}"}"#, true),
            (r#"{"arguments":"{\"a\":\"sk-\\u0061bcabd"#, true),
            (r#"["\\\\","\u0073k-abcabd\"#, true),
            (r#"{"a":"sk-\u0062bcabd","b":"sk-abc\nabd","c":"\ud83d\ude00 \u12"}"#, false),
            ("sk-", false),
            (r"\", false),
        ];
        for (text, expected) in rows {
            assert_eq!(spells(text, "sk-abcabd"), expected, "{text}");
        }
        for key in [r"sk\abc", r#"sk"abc"#, r"sk\u0061", "sk/abc"] {
            let said = serde_json::to_string(&format!("is {key}.")).unwrap();
            assert!(spells(&said, key) && spells(&said.replace('/', r"\/"), key), "{said}");
        }
        assert!(!spells(&r"\".repeat(1 << 20), "sk-abcabd"), "it comes to an end");
    }

    #[derive(Default)]
    struct Heard(Mutex<String>);

    impl DeltaSink for Heard {
        fn delta(&self, delta: Delta<'_>) {
            let told = match delta {
                Delta::Reasoning(text) => format!("({text})"),
                Delta::Call(name) => format!("[{name}]"),
                Delta::Text(text) => text.to_owned(),
                other => format!("{other:?}"),
            };
            self.0.lock().unwrap().push_str(&told);
        }
    }

    #[track_caller]
    fn check(pieces: &[Delta<'_>], expected: &str) {
        let heard = Heard::default();
        let guard = Guard::new(Some("sk-abcabd"), &heard);
        pieces.iter().for_each(|piece| guard.delta(*piece));
        guard.end();
        assert_eq!(heard.0.into_inner().unwrap(), expected, "{pieces:?}");
    }

    #[test]
    fn the_key_is_never_told_however_it_is_cut() {
        let text = "It is sk-abcabd, he said";
        for first in 0..text.len() {
            for second in first..text.len() {
                let [a, b, c] = [&text[..first], &text[first..second], &text[second..]];
                let heard = Heard::default();
                let guard = Guard::new(Some("sk-abcabd"), &heard);
                [a, b, c].iter().for_each(|piece| guard.delta(Delta::Text(piece)));
                guard.end();
                let told = heard.0.into_inner().unwrap();
                assert!("It is ".starts_with(&told), "{first} {second}: {told}");
            }
        }
    }

    #[test]
    fn all_else_is_told() {
        use Delta::{Call, Reasoning, Text};
        check(&[Text("sk-abc"), Text("abc"), Text("é")], "sk-abcabcé");
        check(&[Text("sk-abcab")], "sk-abcab");
        check(&[Text("a sk-"), Reasoning("abcabd"), Text("b")], "a sk-(abcabd)b");
        check(&[Text("a s"), Call("n"), Text("k")], "a s[n]k");
        check(&[Call("a_sk-abcabd"), Text("more")], "");
    }
}
