//! Chains of capability tokens, and every reason to refuse one.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rye_sign::token::{Claims, Token, TokenError, covers_literally, verify_chain};
use rye_sign::{Digest, PublicKey, canonical_json};
use rye_types::Timestamp;
use serde_json::Value;

use crate::{at, check_error, key, many_cases, now};

fn claims(id: &str, capabilities: &[&str]) -> Claims {
    Claims {
        token_id: id.to_owned(),
        thread_id: format!("thread-{id}"),
        directive_id: "ops/deploy".to_owned(),
        directive_hash: Digest::of(b"the directive"),
        capabilities: vec![list(capabilities)],
        issued: at("2026-11-20T17:00:00Z"),
        expires: at("2026-11-20T19:00:00Z"),
    }
}

fn list(capabilities: &[&str]) -> Vec<String> {
    capabilities.iter().map(|&capability| capability.to_owned()).collect()
}

fn root() -> Token {
    Token::mint(claims("root", &["rye.load.*", "rye.execute.tool.a"]), &key(1)).expect("minted")
}

fn child_of(parent: &Token, id: &str) -> Token {
    parent.child(claims(id, &["rye.load.*"]), &key(1), covers_literally).expect("narrowed")
}

fn verify(tokens: &[Token], at: Timestamp) -> Result<Token, TokenError> {
    verify_chain(tokens, &[key(1).public()], at, covers_literally).cloned()
}

/// Returns the token with one text of its JSON replaced and its old signature.
fn edited(token: &Token, from: &str, to: &str) -> Token {
    let json = token.to_json();
    assert!(json.contains(from), "{json}");
    Token::parse(&json.replace(from, to)).expect("still a token")
}

#[test]
fn a_chain_verifies_to_its_leaf() {
    let root = root();
    let child = child_of(&root, "child");
    let grandchild = child_of(&child, "grandchild");
    let chain = [root.clone(), child.clone(), grandchild.clone()];
    assert_eq!(verify(&chain, now()), Ok(grandchild));
    assert_eq!(verify(&chain[..1], now()), Ok(root.clone()));
    assert_eq!(child.parent(), Some(&root.digest()));
}

#[test]
fn the_json_is_canonical_and_read_again() {
    let token = root();
    assert_eq!(Token::parse(&token.to_json()), Ok(token.clone()));
    let value: serde_json::Value = serde_json::from_str(&token.to_json()).expect("JSON");
    assert_eq!(rye_sign::canonical_json(&value), token.to_json());
    assert_eq!(token.claims().capabilities, [["rye.execute.tool.a", "rye.load.*"]]);
}

/// The expected JSON was made with another implementation of Ed25519 and of sorted JSON.
#[test]
fn the_json_is_what_another_implementation_writes() {
    assert_eq!(root().to_json(), PINNED);
}

const PINNED: &str = r#"{"capabilities":[["rye.execute.tool.a","rye.load.*"]],"directive_hash":"8fb296cbfd473a56275bbfde2dfdced52dedf85f6b393eca90ab306d90fe0ef8","directive_id":"ops/deploy","expires":"2026-11-20T19:00:00Z","format":"rye-token-v1","issued":"2026-11-20T17:00:00Z","key_id":"3d4c030534b1c1c6","parent":null,"signature":"Csl9bSIUDlaNYkmnvsB0oZ3BP2E5hLcTEKa-c2FS83gcBm3tPYmDS8d1y_S4nRdjgHaj5DUmY7OB7hX5SL57Bg","thread_id":"thread-root","token_id":"root"}"#;

#[test]
fn an_empty_chain() {
    check_error(verify(&[], now()), "there is no token; a thread without one may do nothing");
}

#[test]
fn an_expired_token() {
    let message = "the token `root` expired at 2026-11-20T19:00:00Z; start the thread again";
    check_error(verify(&[root()], at("2026-11-20T19:00:00Z")), message);
    let root = root();
    let child = child_of(&root, "child");
    check_error(verify(&[root, child], at("2026-11-20T19:00:00Z")), message);
}

#[test]
fn a_token_from_the_future() {
    assert_eq!(verify(&[root()], at("2026-11-20T17:00:00Z")), Ok(root()));
    check_error(
        verify(&[root()], at("2026-11-20T16:59:59Z")),
        "the token `root` holds from 2026-11-20T17:00:00Z on; check the clock of this machine",
    );
}

#[test]
fn a_forged_token() {
    let forged = edited(&root(), "rye.execute.tool.a", "rye.execute.*");
    check_error(
        verify(&[forged], now()),
        "the token `root` is forged: the key `3d4c030534b1c1c6` did not sign it; start the thread again",
    );
}

#[test]
fn a_token_of_another_key() {
    let token = Token::mint(claims("root", &["rye.*"]), &key(2)).expect("minted");
    check_error(
        verify(std::slice::from_ref(&token), now()),
        "the token `root` is signed by the key `07097e6443239d36`, which may not sign tokens here",
    );
    let claimed = edited(&token, "07097e6443239d36", "3d4c030534b1c1c6");
    assert!(matches!(verify(&[claimed], now()), Err(TokenError::Forged { .. })));
}

#[test]
fn a_re_parented_token() {
    let root = root();
    let wide = Token::mint(claims("wide", &["rye.load.*"]), &key(1)).expect("minted");
    let child = child_of(&root, "child");
    check_error(
        verify(&[wide.clone(), child.clone()], now()),
        &format!(
            "the token `child` is re-parented: it descends from `{}`, and is presented under `{}`",
            root.digest().shortened(),
            wide.digest().shortened()
        ),
    );
    check_error(
        verify(std::slice::from_ref(&child), now()),
        &format!(
            "the token `child` is re-parented: it descends from `{}`, and is presented under none",
            root.digest().shortened()
        ),
    );
    assert!(matches!(verify(&[child, root], now()), Err(TokenError::Reparented { .. })));
}

#[test]
fn a_widened_token() {
    let wider = claims("child", &["rye.load.*", "rye.execute.*", "rye.sign.*"]);
    let message = "the token `child` is widened: its parent `root` does not cover `rye.execute.*`, `rye.sign.*`; a child may do no more than its parent";
    check_error(root().child(wider.clone(), &key(1), covers_literally), message);
    // The key's owner can sign such a token. Verification refuses it nevertheless.
    let signed = root().child(wider, &key(1), |_, _| true).expect("signed");
    check_error(verify(&[root(), signed], now()), message);
}

#[test]
fn a_child_of_nothing_may_do_nothing() {
    let root = Token::mint(claims("root", &[]), &key(1)).expect("minted");
    let child = root.child(claims("child", &[]), &key(1), covers_literally).expect("narrowed");
    assert!(verify(&[root.clone(), child], now()).is_ok());
    assert!(root.child(claims("child", &["rye.load.*"]), &key(1), covers_literally).is_err());
}

#[track_caller]
fn check_narrowing(parent: &[&[&str]], child: &[&[&str]], expected: Result<(), &[&str]>) {
    let lists = |lists: &[&[&str]]| lists.iter().map(|patterns| list(patterns)).collect();
    let parent = Claims { capabilities: lists(parent), ..claims("parent", &[]) };
    let child = Claims { capabilities: lists(child), ..claims("child", &[]) };
    let parent = Token::mint(parent, &key(1)).expect("minted");
    let narrowed = parent.child(child, &key(1), covers_literally).map(drop);
    let wider = narrowed.map_err(|error| match error {
        TokenError::Widened { capabilities, .. } => capabilities,
        other => panic!("{other}"),
    });
    assert_eq!(wider, expected.map_err(list));
}

/// A thread may do what all of its lists allow, so a child must stay within every list of its parent.
#[test]
fn every_list_of_a_parent_bounds_its_child() {
    check_narrowing(&[&["a", "b"], &["b", "c"]], &[&["b"]], Ok(()));
    check_narrowing(&[&["a", "b"], &["b", "c"]], &[&["a"]], Err(&["a"]));
    check_narrowing(&[&["a", "b"], &["b", "c"]], &[&["a"], &["c"]], Ok(()));
    check_narrowing(&[&["a"], &["b"]], &[&["a"], &["b"], &["x", "y"]], Ok(()));
    check_narrowing(&[&["a"], &["b"]], &[&["a"], &["x", "b"]], Err(&["x"]));
    check_narrowing(&[&["a"]], &[&["a"], &[]], Ok(()));
    check_narrowing(&[&["a"], &[]], &[&["a"]], Err(&["a"]));
    check_narrowing(&[], &[&["a"]], Err(&["a"]));
    check_narrowing(&[&["a"]], &[], Ok(()));
}

/// A token without any list must not be read as a token without limits.
#[test]
fn a_token_without_a_list_allows_nothing() {
    let none = Claims { capabilities: Vec::new(), ..claims("root", &[]) };
    let token = Token::mint(none, &key(1)).expect("minted");
    assert_eq!(token.claims().capabilities, [Vec::<String>::new()]);
    let json = token.to_json().replace("[[]]", "[]");
    check_malformed(&json, "its `capabilities` hold no list of patterns");
}

#[test]
fn a_token_that_outlives_its_parent() {
    let message = "the token `child` holds before or after its parent `root`; a child lasts no longer than its parent";
    let later = Claims { expires: at("2026-11-20T19:00:01Z"), ..claims("child", &[]) };
    check_error(root().child(later, &key(1), covers_literally), message);
    let earlier = Claims { issued: at("2026-11-20T16:59:59Z"), ..claims("child", &[]) };
    check_error(root().child(earlier, &key(1), covers_literally), message);
}

#[test]
fn a_token_that_never_holds() {
    let claims = Claims { expires: at("2026-11-20T17:00:00Z"), ..claims("root", &[]) };
    check_error(
        Token::mint(claims, &key(1)),
        "the token `root` would expire at 2026-11-20T17:00:00Z, which is not after its issue at 2026-11-20T17:00:00Z",
    );
}

#[test]
fn an_id_of_two_lines() {
    check_error(
        Token::mint(Claims { thread_id: "a\nb".to_owned(), ..claims("root", &[]) }, &key(1)),
        "the thread id \"a\\nb\" is empty or holds a control character; an id is one line of text",
    );
}

#[test]
fn a_chain_without_end() {
    let next = |token: &Token| Some(child_of(token, "child"));
    let longest: Vec<Token> = std::iter::successors(Some(root()), next).take(64).collect();
    assert!(verify(&longest, now()).is_ok());
    let tokens: Vec<Token> = std::iter::repeat_with(root).take(65).collect();
    check_error(verify(&tokens, now()), "the chain has 65 tokens; at most 64 are verified");
}

#[track_caller]
fn check_malformed(json: &str, problem: &str) {
    check_error(Token::parse(json), &format!("not a token: {problem}"));
}

#[test]
fn text_that_is_no_token() {
    let json = root().to_json();
    check_malformed("", "EOF while parsing a value at line 1 column 0");
    check_malformed(
        &json.replace("rye-token-v1", "rye-token-v2"),
        "its format is `rye-token-v2`, not `rye-token-v1`",
    );
    check_malformed(
        &json.replace("T17:", "t17:"),
        "its `issued` `2026-11-20t17:00:00Z` is not of its form",
    );
    check_malformed(
        &json.replace("3d4c", "3D4C"),
        "its `key_id` `3D4C030534b1c1c6` is not of its form",
    );
    let twice = json.replacen('{', "{\"token_id\":\"other\",", 1);
    assert!(
        Token::parse(&twice)
            .is_err_and(|error| error.to_string().contains("duplicate field `token_id`"))
    );
    let unknown = json.replacen('{', "{\"more\":1,", 1);
    assert!(
        Token::parse(&unknown)
            .is_err_and(|error| error.to_string().contains("unknown field `more`"))
    );
}

static ROOT: LazyLock<Token> = LazyLock::new(root);
static CHILD: LazyLock<Token> = LazyLock::new(|| child_of(&ROOT, "child"));
static KEYS: LazyLock<[PublicKey; 1]> = LazyLock::new(|| [key(1).public()]);

/// Parses the last token of a chain and verifies the chain.
fn read_and_verify(parents: &[&Token], json: &str) -> Result<Token, TokenError> {
    let read = Token::parse(json)?;
    let chain: Vec<Token> = parents.iter().copied().cloned().chain([read]).collect();
    verify_chain(&chain, &*KEYS, now(), covers_literally).cloned()
}

/// Returns another value of the same type. If the member has a fixed form, the new value has it, too.
fn changed(old: &Value, text: &str, number: usize) -> Value {
    match old {
        Value::Null => Value::from(Digest::of(text.as_bytes()).to_string()),
        Value::Array(lists) => {
            let mut lists = lists.clone();
            match (number % 4, lists.first_mut()) {
                (0, _) => lists.push(Value::from(vec![text])),
                (1, Some(Value::Array(list))) => list.push(Value::from(text)),
                (2, Some(Value::Array(list))) => drop(list.pop()),
                _ => lists.clear(),
            }
            Value::from(lists)
        }
        old => {
            let old = old.as_str().unwrap_or_default();
            Value::from(match (old.parse::<Digest>(), old.parse::<Timestamp>()) {
                (Ok(_), _) => Digest::of(text.as_bytes()).to_string(),
                (_, Ok(at)) => {
                    let seconds = i64::try_from(number % 4000).expect("a small number") - 2000;
                    Timestamp::from_unix(at.as_unix() + seconds).to_string()
                }
                _ => format!("{old}{text}"),
            })
        }
    }
}

#[test]
fn any_single_byte_change_is_refused() {
    let changes = (any::<prop::sample::Index>(), b' '..=b'~');
    let tried = TestRunner::new(many_cases()).run(&changes, |(place, new)| {
        let mut bytes = ROOT.to_json().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = new;
        let json = String::from_utf8(bytes).expect("ASCII");
        let read = read_and_verify(&[], &json);
        // Another spelling of the same token is parsed as that token.
        prop_assert!(read.is_err() || read.as_ref() == Ok(&*ROOT), "{json}");
        Ok(())
    });
    assert!(tried.is_ok(), "{}", tried.unwrap_err());
}

#[test]
fn any_changed_field_is_refused() {
    let changes = (any::<prop::sample::Index>(), "[ -~]{1,8}", any::<usize>(), any::<bool>());
    let tried = TestRunner::new(many_cases()).run(&changes, |(member, text, number, is_child)| {
        let (token, parents): (_, &[&Token]) =
            if is_child { (&*CHILD, &[&*ROOT]) } else { (&*ROOT, &[]) };
        let mut value: Value = serde_json::from_str(&token.to_json()).expect("JSON");
        let members = value.as_object_mut().expect("an object");
        let names: Vec<String> = members.keys().cloned().collect();
        let name = member.get(&names);
        let old = members.get(name).cloned().expect("a member");
        let new = changed(&old, &text, number);
        members.insert(name.clone(), new.clone());
        let read = read_and_verify(parents, &canonical_json(&value));
        // A second spelling of the same value, such as padding of the signature, is not a change.
        let is_same = new == old || read.as_ref() == Ok(token);
        prop_assert!(is_same || read.is_err(), "{name}: {old} to {new}");
        prop_assert!(new == old || name == "signature" || read.is_err(), "{name}: {old} to {new}");
        Ok(())
    });
    assert!(tried.is_ok(), "{}", tried.unwrap_err());
}
