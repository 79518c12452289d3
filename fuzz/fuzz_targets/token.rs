//! Capability tokens: what is read is written the same, none counts but those that were signed here, and none with
//! another character in it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rye_sign::token::{Claims, Token, covers_literally, verify_chain};
use rye_sign::{Digest, SigningKey};
use rye_types::Timestamp;

static KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate().expect("the system gives random bytes"));

fuzz_target!(|text: &str| {
    let now = Timestamp::from_unix(1_800_000_000);
    if let Ok(token) = Token::parse(text) {
        let written = token.to_json();
        assert_eq!(Token::parse(&written).as_ref(), Ok(&token), "what was read is kept");
        let keys = [KEY.public()];
        assert!(verify_chain(&[token], &keys, now, covers_literally).is_err(), "nobody signed it");
    }
    let claims = claims(text, now);
    let Ok(token) = Token::mint(claims.clone(), &KEY) else { return };
    let read = Token::parse(&token.to_json()).expect("what was minted is read");
    assert_eq!(read, token);
    let keys = [KEY.public()];
    let other = Token::parse(&changed(&token.to_json(), text.len()))
        .and_then(|other| verify_chain(&[other], &keys, now, covers_literally).cloned());
    assert!(other.is_err() || other.as_ref() == Ok(&token), "another token was not signed");
    let child =
        token.child(Claims { capabilities: Vec::new(), ..claims.clone() }, &KEY, covers_literally);
    let chain = [token.clone(), child.expect("a narrower token")];
    assert!(verify_chain(&chain, &[KEY.public()], now, covers_literally).is_ok());
    let wider = Claims { capabilities: vec![vec!["rye.*".to_owned()]], ..claims.clone() };
    assert_eq!(
        token.child(wider, &KEY, covers_literally).is_ok(),
        claims.capabilities.iter().all(|list| list.iter().any(|capability| capability == "rye.*")),
        "a child has no more than its parent"
    );
});

/// The JSON with the character near `place`, counted around, replaced. Where that was the escape of a character, it may
/// still be the same token.
fn changed(json: &str, place: usize) -> String {
    let place = place.wrapping_mul(31) % json.chars().count();
    let other = |c| if c == 'A' { 'B' } else { 'A' };
    json.chars().enumerate().map(|(at, c)| if at == place { other(c) } else { c }).collect()
}

/// The lines of the text as ids and capabilities.
fn claims(text: &str, now: Timestamp) -> Claims {
    let mut lines = text.split('\n').map(str::to_owned);
    let mut next = || lines.next().unwrap_or_default();
    Claims {
        token_id: next(),
        thread_id: next(),
        directive_id: next(),
        directive_hash: Digest::of(text.as_bytes()),
        capabilities: vec![lines.collect()],
        issued: now,
        expires: Timestamp::from_unix(now.as_unix() + 60),
    }
}
