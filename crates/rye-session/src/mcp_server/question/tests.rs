use serde_json::json;

use super::*;

#[track_caller]
fn check(arguments: &Value, expected: Result<&str, &str>) {
    assert_eq!(show_arguments(arguments).as_deref().map_err(|why| *why), expected);
}

#[test]
fn arguments_are_shown_with_nothing_hidden() {
    check(&json!({}), Ok("{}"));
    check(&json!({ "path": "a b", "n": 1 }), Ok("{\n  \"path\": \"a b\",\n  \"n\": 1\n}"));
    for (given, expected) in [
        ("\u{202e}cod.exe", r#""\u202ecod.exe""#),
        ("a\u{2066}b\u{2069}", r#""a\u2066b\u2069""#),
        ("\u{1b}[2K", r#""\u001b[2K""#),
        ("a\u{9b}b\u{7f}", r#""a\u009bb\u007f""#),
        ("a\u{200b}b\u{e0041}", r#""a\u200bb\udb40\udc41""#),
        ("\r\n\t", r#""\r\n\t""#),
        ("\u{2028}x", r#""\u2028x""#),
        ("a\u{a0}b\u{3000}\u{2800}", r#""a\u00a0b\u3000\u2800""#),
        ("<!-- a --> <b> </b> 1 < 2 <3", r#""\u003c!-- a --> \u003cb> \u003c/b> 1 < 2 <3""#),
        ("a        b", r#""a        b""#),
        ("a         b", r#""a\u0020\u0020\u0020\u0020\u0020\u0020\u0020\u0020\u0020b""#),
        ("é ß 中 ❤\u{fe0f}", "\"é ß 中 ❤\u{fe0f}\""),
    ] {
        check(&json!(given), Ok(expected));
        // It is JSON of the same value, so that the client approves of no other one.
        let read: String = serde_json::from_str(&show_arguments(&json!(given)).unwrap()).unwrap();
        assert_eq!(read, given);
        check(&json!({ given: 1 }), Ok(&format!("{{\n  {expected}: 1\n}}")));
    }
}

#[test]
fn arguments_are_shown_whole_or_not_at_all() {
    let most = "x".repeat(LONGEST_ARGUMENTS - 2);
    check(&json!(most), Ok(&format!("\"{most}\"")));
    let long = Err("the arguments are too long to be looked at in a client");
    check(&json!(format!("{most}x")), long);
    check(&json!(format!("echo{}; touch evil", " ".repeat(3_000))), long);
    let list = |rows: usize| json!(vec![1; rows]);
    assert!(show_arguments(&list(58)).is_ok());
    check(&list(59), long);
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    assert!(show_arguments(&nested(20)).is_ok());
    check(&nested(21), long);
    // The length of the escaped text counts.
    check(&json!("\u{202e}".repeat(LONGEST_ARGUMENTS / 6 + 1)), long);
}

#[test]
fn nothing_ends_the_code_that_it_stands_in() {
    for (text, expected) in [
        ("notes/index", "`notes/index`"),
        ("a`b``c", "```a`b``c```"),
        ("`a", "`` `a ``"),
        ("a\nb\u{202e}", "`a\\nb\\u202e`"),
    ] {
        assert_eq!(code(text), expected);
    }
    for (text, expected) in [
        ("\"a\"", "```json\n\"a\"\n```"),
        ("\"[done](<'; touch evil #>)\"", "```json\n\"[done](<'; touch evil #>)\"\n```"),
        ("\"```\"", "````json\n\"```\"\n````"),
        ("\"` ````` ``\"", "``````json\n\"` ````` ``\"\n``````"),
    ] {
        assert_eq!(block(text), expected);
    }
}

/// SPEC 14.1: a person at a client is told of a call that was cut off that it may have happened.
#[test]
fn a_client_is_told_why_a_call_waits() {
    let thread = "a-019a0000-0000-7000-8000-000000000001".parse().unwrap();
    for reason in ApprovalReason::ALL {
        let request = ApprovalRequest::new(&thread, "c", "a/b", &json!({}), *reason);
        let expected = match reason {
            ApprovalReason::Escalated => Err("what a hook asks is for the operator to look at"),
            _ => Ok(request.why()),
        };
        assert_eq!(why(&request), expected);
        let data = crate::session::waits_for(&request);
        assert_eq!(data["why"], request.why());
    }
}
