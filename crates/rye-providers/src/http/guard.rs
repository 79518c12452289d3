//! What keeps the key that a provider was sent out of what its answers tell.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rye_thread::{Charge, Delta, DeltaSink, Reply};

/// Whether the key stands in what a thread would keep of an answer.
pub(super) fn repeats(reply: &Reply, secret: &str) -> bool {
    let texts = [reply.raw().get(), &reply.text, &reply.reasoning];
    let in_call = |call: &rye_thread::ToolCall| {
        let in_arguments = |arguments: &serde_json::Value| arguments.to_string().contains(secret);
        call.id.contains(secret)
            || call.name.contains(secret)
            || call.arguments.as_ref().is_ok_and(in_arguments)
    };
    texts.iter().any(|text| text.contains(secret)) || reply.calls.iter().any(in_call)
}

/// Passes pieces of an answer on, but for what is, or may become, the key: it may come in pieces too.
pub(super) struct Guard<'a> {
    secret: Option<&'a str>,
    deltas: &'a dyn DeltaSink,
    held: Mutex<Held>,
}

/// The end of what came that the key may begin with.
#[derive(Default)]
struct Held {
    is_reasoning: bool,
    text: String,
    /// Nothing more is told of an answer that holds the key.
    is_closed: bool,
}

impl<'a> Guard<'a> {
    pub(super) fn new(secret: Option<&'a str>, deltas: &'a dyn DeltaSink) -> Self {
        Self { secret, deltas, held: Mutex::default() }
    }

    /// Tells what was held back, once no more comes.
    pub(super) fn end(&self) {
        self.let_go(&mut self.held());
    }

    fn held(&self) -> MutexGuard<'_, Held> {
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
        let mut held = self.held();
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
        if self.held().is_closed {
            return;
        }
        match delta {
            Delta::Text(text) => self.take(secret, false, text),
            Delta::Reasoning(text) => self.take(secret, true, text),
            Delta::Call(name) if name.contains(secret) => self.held().is_closed = true,
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
