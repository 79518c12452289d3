//! Refused patterns, and the advice in their messages.

use super::*;

/// Checks each problem in `pattern`: the text at its span, and its message.
#[track_caller]
fn check(pattern: &str, expected: &[(&str, &str)]) {
    let error = scan(pattern).unwrap_err();
    let found: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| (&pattern[problem.span.clone()], problem.to_string()))
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(at, message)| (*at, (*message).to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn other_wildcard_dialects_are_refused() {
    let alternative =
        |character| format!("`{character}` is not allowed; write one pattern for each alternative");
    check(
        "rye.{a,b}",
        &[("{", &alternative('{')), (",", &alternative(',')), ("}", &alternative('}'))],
    );
    check("rye.a|b", &[("|", &alternative('|'))]);
    check("rye.(a)", &[("(", &alternative('(')), (")", &alternative(')'))]);
    check("rye.\\*", &[("\\", "`\\` is not allowed; nothing needs escaping, so remove it")]);
    let negated = |character| {
        format!(
            "`{character}` is not allowed; write a class such as `[!a]` for every character but these"
        )
    };
    check("!rye.bash", &[("!", &negated('!'))]);
    check("^rye", &[("^", &negated('^'))]);
    let allowed = "write letters, digits, `_`, `-`, `.`, `/`, `*`, `?` or a class such as `[a-z]`";
    check("rye.bash$", &[("$", &format!("`$` is not allowed; {allowed}"))]);
    check(
        "rye.a@b+c",
        &[
            ("@", &format!("`@` is not allowed; {allowed}")),
            ("+", &format!("`+` is not allowed; {allowed}")),
        ],
    );
    check("rye:bash", &[(":", &format!("`:` is not allowed; {allowed}"))]);
}

#[test]
fn white_space_control_and_other_alphabets_are_refused() {
    let remove = "remove it, and write each pattern on its own";
    check("rye.* rye.bash", &[(" ", &format!("` ` is not allowed; {remove}"))]);
    check("rye.*\n", &[("\n", &format!("`\\n` is not allowed; {remove}"))]);
    check("\u{a0}rye", &[("\u{a0}", &format!("`\u{a0}` is not allowed; {remove}"))]);
    let ascii = "item ids are written with ASCII letters, digits, `_`, `-`, `.` and `/`";
    check("rye.\u{1b}[m]", &[("\u{1b}", &format!("`\\u{{1b}}` is not allowed; {ascii}"))]);
    check("rye.\0", &[("\0", &format!("`\\u{{0}}` is not allowed; {ascii}"))]);
    check("rye.\u{80}", &[("\u{80}", &format!("`\\u{{80}}` is not allowed; {ascii}"))]);
    check("rye.bäsh", &[("ä", &format!("`ä` is not allowed; {ascii}"))]);
    // A Cyrillic letter that looks like a Latin one.
    check("rye.bаsh", &[("а", &format!("`а` is not allowed; {ascii}"))]);
}

#[test]
fn classes_have_to_be_well_formed() {
    check(
        "rye.[ab",
        &[("[ab", "`[` opens a class that is not closed; write the `]` that closes it")],
    );
    check("rye.[", &[("[", "`[` opens a class that is not closed; write the `]` that closes it")]);
    check("rye.a]", &[("]", "`]` closes no class; write the `[` that opens it, or remove it")]);
    check("rye.[]", &[("[]", "the class is empty; write the characters that it matches")]);
    check("rye.[!]", &[("[!]", "the class is empty; write the characters that it matches")]);
    check(
        "rye.[]a]",
        &[
            ("[]", "the class is empty; write the characters that it matches"),
            ("]", "`]` closes no class; write the `[` that opens it, or remove it"),
        ],
    );
    check("rye.[^a]", &[("^", "`[^` is not allowed; write `[!` for every character but these")]);
    check(
        "rye.[a^]",
        &[("^", "`^` is not allowed in a class; write `!` only directly after the `[`")],
    );
    check(
        "rye.[a!]",
        &[("!", "`!` is not allowed in a class; write `!` only directly after the `[`")],
    );
    check(
        "rye.[a/]",
        &[("/", "`/` is not allowed in a class; write `.`, which is how a capability spells it")],
    );
    check(
        "rye.[a\\]",
        &[("\\", "`\\` is not allowed in a class; nothing needs escaping, so remove it")],
    );
    check(
        "rye.[*]",
        &[("*", "`*` is not allowed in a class; write it outside, where it is a wildcard")],
    );
    let allowed = "is not allowed in a class; write letters, digits, `_`, `-` and `.`";
    check(
        "rye.[[:alpha:]]",
        &[
            ("[", "`[` is not allowed in a class; write the `]` that closes the class before it"),
            (":", &format!("`:` {allowed}")),
            (":", &format!("`:` {allowed}")),
            ("]", "`]` closes no class; write the `[` that opens it, or remove it"),
        ],
    );
    check("rye.[aé ]", &[("é", &format!("`é` {allowed}")), (" ", &format!("` ` {allowed}"))]);
}

#[test]
fn ranges_have_to_be_of_one_sort_and_in_order() {
    check("rye.[z-a]", &[("z-a", "the range `z-a` is reversed; write `a-z`")]);
    check("rye.[!b9-0]", &[("9-0", "the range `9-0` is reversed; write `0-9`")]);
    let mixed = |range| {
        format!(
            "the range `{range}` is ambiguous; write ranges of lower-case letters, of upper-case letters or of \
             digits, such as `a-zA-Z0-9`"
        )
    };
    check("rye.[A-z]", &[("A-z", &mixed("A-z"))]);
    check("rye.[0-z]", &[("0-z", &mixed("0-z"))]);
    check("rye.[.-9]", &[(".-9", &mixed(".-9"))]);
    check("rye.[a-_]", &[("a-_", &mixed("a-_"))]);
    let dash = "`-` joins nothing here; write it as the last character of the class";
    check("rye.[a-c-e]", &[("-", dash)]);
    check("rye.[--a]", &[("--a", dash)]);
    check("rye.[---]", &[("---", dash)]);
    check(
        "rye.[!-é]",
        &[("é", "`é` is not allowed in a class; write letters, digits, `_`, `-` and `.`")],
    );
    check(
        "rye.[a-é]",
        &[("é", "`é` is not allowed in a class; write letters, digits, `_`, `-` and `.`")],
    );
}

#[test]
fn sizes_are_bounded() {
    check("", &[("", "it is empty; write `*` to mean everything, or leave the grant out")]);
    let long = "a".repeat(257);
    let too_long =
        "it has 257 bytes; at most 256 are allowed, not counting a leading `rye.<primary>.<kind>.`"
            .to_owned();
    check(&long, &[(&long, &too_long)]);
    let head = format!("rye.fetch.tool.{long}");
    check(&head, &[(&head, &too_long)]);
    let stars = format!("rye.{}", "*a".repeat(9));
    check(&stars, &[(&stars, "it has 9 `*`; at most 8 are allowed, so write several patterns")]);
    let hostile = "*".repeat(100_000);
    check(
        &hostile,
        &[(
            &hostile,
            "it has 100000 bytes; at most 256 are allowed, not counting a leading `rye.<primary>.<kind>.`",
        )],
    );
    assert!(scan(&"a".repeat(256)).is_ok());
    assert!(scan(&format!("rye.execute.knowledge.{}", "?".repeat(256))).is_ok());
    assert!(scan(&format!("rye.run.knowledge.{}", "?".repeat(256))).is_err());
    assert!(scan(&"*".repeat(256)).is_ok());
}

#[test]
fn the_error_names_the_pattern_and_all_its_problems() {
    assert_eq!(
        scan("[] {").unwrap_err().to_string(),
        "`[] {` is not a capability pattern: the class is empty; write the characters that it matches; ` ` is \
         not allowed; remove it, and write each pattern on its own; `{` is not allowed; write one pattern for \
         each alternative"
    );
    let long = "a".repeat(300);
    assert_eq!(scan(&long).unwrap_err().pattern(), format!("{}…", "a".repeat(120)));
}
