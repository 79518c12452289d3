//! Every row of the conformance tables, read whole and as streams with pieces of several sizes.

use std::sync::Mutex;

use rye_providers::{Protocol, StreamDecoder, decode};
use rye_thread::{Delta, DeltaSink};

use crate::answers::{keep_stream, keep_whole};
use crate::fixtures::{Fixture, fixtures, stream};
use crate::sweep::sweep;

#[track_caller]
fn check(judge: impl Fn(Protocol, &Fixture) -> Option<String>) {
    let mut faults = Vec::new();
    for &protocol in Protocol::ALL {
        for fixture in fixtures(protocol) {
            let fault = judge(protocol, fixture);
            faults.extend(
                fault.map(|fault| format!("{}, {}: {fault}", protocol.as_str(), fixture.name)),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// There are at least thirty answers that are read both whole and streamed, and others that are read in one
/// way only.
#[test]
fn the_tables_are_long_enough() {
    for &protocol in Protocol::ALL {
        let has =
            |parts: fn(&Fixture) -> bool| fixtures(protocol).iter().filter(|it| parts(it)).count();
        let both = has(|fixture| fixture.whole().is_some() && fixture.events().is_some());
        let [whole, streamed] = [has(|it| it.whole().is_some()), has(|it| it.events().is_some())];
        assert!(both >= 30, "{protocol:?}: {both} of {whole} whole and {streamed} streamed");
    }
}

#[test]
fn a_response_in_one_piece() {
    check(|protocol, fixture| {
        keep_whole(protocol, fixture);
        fixture.judge_whole(protocol)
    });
}

#[test]
fn a_stream_is_read_as_the_response_in_one_piece() {
    check(|protocol, fixture| {
        keep_stream(protocol, fixture);
        None
    });
    for piece in [usize::MAX, 1, 7, 64] {
        check(|protocol, fixture| fixture.judge_stream(protocol, piece.min(1 << 20)));
    }
}

/// JSON must be UTF-8 (RFC 8259, section 8.1), even in members that are ignored.
#[test]
fn bytes_that_are_no_text_are_refused() {
    let body = b"{\"never \xff read\":0}";
    for &protocol in Protocol::ALL {
        let whole = decode(protocol, body).unwrap_err().to_string();
        let mut decoder = StreamDecoder::new(protocol);
        let event = [b"data: ".as_slice(), body, b"\n\n"].concat();
        let streamed = decoder.feed(&event, &()).unwrap_err().to_string();
        assert_eq!([whole, streamed], ["the response is not UTF-8"; 2], "{}", protocol.as_str());
    }
}

/// A stream that is cut anywhere is an error, unless the answer was complete.
#[test]
fn no_cut_goes_unseen() {
    check(|protocol, fixture| {
        let events = fixture.events()?;
        let whole = stream(protocol, &events, 1 << 20, &()).ok()?;
        let places = (0..events.len()).filter(|at| events.is_char_boundary(*at));
        sweep(places, 0, 5).into_iter().find_map(|at| {
            let cut = stream(protocol, events.get(..at)?, 1 << 20, &()).ok()?;
            let same = cut.raw().get() == whole.raw().get() && cut.stop == whole.stop;
            (!same).then(|| format!("cut at {at}, it is read as {}", cut.raw().get()))
        })
    });
}

/// The pieces of an answer add up to the text of the reply.
#[test]
fn pieces_add_up_to_the_answer() {
    #[derive(Default)]
    struct Heard(Mutex<(String, String, Vec<String>)>);
    impl DeltaSink for Heard {
        fn delta(&self, delta: Delta<'_>) {
            let mut heard = self.0.lock().unwrap();
            match delta {
                Delta::Text(text) => heard.0.push_str(text),
                Delta::Reasoning(text) => heard.1.push_str(text),
                Delta::Call(name) => heard.2.push(name.to_owned()),
                _ => {}
            }
        }
    }
    check(|protocol, fixture| {
        if fixture.untold {
            return None;
        }
        let heard = Heard::default();
        let reply = stream(protocol, &fixture.events()?, 1 << 20, &heard).ok()?;
        let (text, reasoning, calls) = heard.0.into_inner().unwrap();
        let names: Vec<String> = reply.calls.iter().map(|call| call.name.clone()).collect();
        let told = (text, reasoning, calls);
        let said = (reply.text, reply.reasoning.replace('\n', ""), names);
        (told != said).then(|| format!("told {told:?} of {said:?}"))
    });
}
