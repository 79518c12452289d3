//! The classification of grants, and the refusal of invalid tables and acknowledgements.

use rye_types::{Risk, RiskPolicy};
use serde_json::{Value, json};

use super::*;
use crate::{grant::Grant, invocation::Invocation, pattern::Pattern};

/// Returns a table like the shipped one: broad rules, and narrower ones with both higher and lower risks.
fn table() -> RiskTable {
    let classification = |risk: &str, patterns: Value, description: &str| json!({ "risk": risk, "patterns": patterns, "description": description });
    RiskTable::from_value(&json!({
        "version": "1.0.0",
        "category": "agent",
        "risk_levels": { "elevated": { "policy": "acknowledge_required", "description": "runs commands" } },
        "classifications": [
            classification("unrestricted", json!(["rye.*"]), "everything"),
            classification("write", json!(["rye.execute.*", "rye.sign.*"]), "changes files"),
            classification("elevated", json!(["rye.execute.tool.rye.bash.*", "rye.execute.tool.rye.web.*"]), "shell"),
            classification("safe", json!(["rye.execute.tool.rye.web.status", "rye.fetch.*"]), "reads"),
            classification("unrestricted", json!(["rye.execute.tool.rye.bash.root"]), "the super-user"),
        ],
    }))
    .unwrap()
}

#[track_caller]
fn check(pattern: &str, risk: Risk, by: Option<&str>) {
    let classification = table().classify(&pattern.parse().unwrap());
    let decided = classification.by.as_ref().map(Pattern::as_str);
    assert_eq!((classification.risk, decided), (risk, by));
}

#[test]
fn the_most_specific_pattern_decides() {
    check("rye.execute.tool.x", Risk::Write, Some("rye.execute.*"));
    check("rye.execute.tool.rye.bash.bash", Risk::Elevated, Some("rye.execute.tool.rye.bash.*"));
    check("rye.execute.tool.rye.bash", Risk::Elevated, Some("rye.execute.tool.rye.bash.*"));
    check(
        "rye.execute.tool.rye.bash.root",
        Risk::Unrestricted,
        Some("rye.execute.tool.rye.bash.root"),
    );
    check("rye.execute.tool.rye.web.status", Risk::Safe, Some("rye.execute.tool.rye.web.status"));
    check("rye.search.tool.x", Risk::Safe, Some("rye.fetch.*"));
    check("rye.load.tool.*", Risk::Safe, Some("rye.fetch.*"));
    check("rye.fetch.*", Risk::Safe, Some("rye.fetch.*"));
    check("rye.sign.directive.*", Risk::Write, Some("rye.sign.*"));
}

#[test]
fn a_wildcard_is_as_risky_as_the_riskiest_that_it_covers_or_meets() {
    check("rye.execute.*", Risk::Unrestricted, Some("rye.execute.tool.rye.bash.root"));
    check("rye.execute.directive.*", Risk::Write, Some("rye.execute.*"));
    check("rye.execute.tool.rye.web.*", Risk::Elevated, Some("rye.execute.tool.rye.web.*"));
    check("rye.execute.tool.rye.web.s*", Risk::Elevated, Some("rye.execute.tool.rye.web.*"));
    check("rye.execute.tool.rye.*.bash", Risk::Elevated, Some("rye.execute.tool.rye.bash.*"));
    check("rye.execute.tool.*.root", Risk::Unrestricted, Some("rye.execute.tool.rye.bash.root"));
    check("rye.execute.tool.*.toot", Risk::Elevated, Some("rye.execute.tool.rye.bash.*"));
    check("rye.[ls]*", Risk::Unrestricted, Some("rye.*"));
    check("rye.*", Risk::Unrestricted, Some("rye.execute.tool.rye.bash.root"));
    check("*", Risk::Unrestricted, Some("rye.execute.tool.rye.bash.root"));
}

/// Classes and single characters are decided exactly: one letter more or less changes the risk.
#[test]
fn classes_and_single_characters_meet_what_they_spell_and_nothing_else() {
    let elevated = Some("rye.execute.tool.rye.bash.*");
    check("rye.execute.tool.rye.bas[a-h]", Risk::Elevated, elevated);
    check("rye.execute.tool.rye.bas[!h]", Risk::Write, Some("rye.execute.*"));
    check("rye.execute.tool.rye.bas[i-z]*", Risk::Write, Some("rye.execute.*"));
    check("rye.execute.tool.rye.???h", Risk::Elevated, elevated);
    check("rye.execute.tool.rye.??", Risk::Write, Some("rye.execute.*"));
    check("rye.execute.tool.rye.???", Risk::Elevated, Some("rye.execute.tool.rye.web.*"));
    check("rye.execute.tool.rye.????.x", Risk::Elevated, elevated);
    let root = Some("rye.execute.tool.rye.bash.root");
    check("rye.execute.tool.rye.bash.roo?", Risk::Unrestricted, root);
    check("rye.execute.tool.rye.bash.????", Risk::Unrestricted, root);
    check("rye.execute.tool.rye.bash.?????", Risk::Elevated, elevated);
    check("rye.execute.tool.rye.bash.[p-t]oot", Risk::Unrestricted, root);
    check("rye.execute.tool.rye.bash.[!r]oot", Risk::Elevated, elevated);
    check("rye.execute.tool.rye.bash.[!a-qs-z]*", Risk::Unrestricted, root);
    check("rye.[a-e]*.tool.rye.bash.root", Risk::Unrestricted, root);
    check("rye.execute.[!t]*.rye.bash.root", Risk::Write, Some("rye.execute.*"));
}

#[test]
fn what_covers_nothing_is_safe_and_what_nobody_classified_is_not() {
    check("rye.run.*", Risk::Safe, None);
    let narrow = RiskTable::from_value(&json!({
        "classifications": [
            { "risk": "safe", "patterns": ["rye.load.*"] },
            { "risk": "write", "patterns": ["rye.search.*"] },
        ],
    }))
    .unwrap();
    let risk = |pattern: &str| narrow.classify(&pattern.parse().unwrap()).risk;
    assert_eq!(risk("rye.load.tool.x"), Risk::Safe);
    assert_eq!(risk("rye.fetch.*"), Risk::Write);
    // The two rules cover this together, although neither does alone.
    assert_eq!(risk("rye.[ls][oe]*"), Risk::Write);
    assert_eq!(risk("rye.[ls]*"), Risk::Unrestricted);
    assert_eq!(risk("rye.sign.tool.x"), Risk::Unrestricted);
    assert_eq!(
        RiskTable::default().classify_capability(&"rye.load.tool.x".parse().unwrap()).risk,
        Risk::Unrestricted
    );
}

/// Cases: the risks of searching and of loading, the risk of both, and the row that decides.
#[test]
fn of_two_actions_the_riskier_decides_and_of_equals_the_first() {
    for (search, load, expected, by) in [
        ("write", "safe", Risk::Write, "rye.search.*"),
        ("safe", "write", Risk::Write, "rye.load.*"),
        ("write", "write", Risk::Write, "rye.search.*"),
    ] {
        let table = RiskTable::from_value(&json!({
            "classifications": [
                { "risk": search, "patterns": ["rye.search.*"] },
                { "risk": load, "patterns": ["rye.load.*"] },
            ],
        }))
        .unwrap();
        let found = table.classify(&"rye.fetch.*".parse().unwrap());
        assert_eq!((found.risk, found.by.unwrap().as_str()), (expected, by));
        let unknown = table.classify(&"rye.sign.*".parse().unwrap()).to_string();
        assert_eq!(unknown, "`unrestricted` because the risk table does not cover all of it");
    }
}

#[test]
fn equally_specific_patterns_are_as_risky_as_the_riskier() {
    let table = RiskTable::from_value(&json!({
        "classifications": [
            { "risk": "elevated", "patterns": ["rye.load.tool.a?"] },
            { "risk": "write", "patterns": ["rye.load.tool.?b", "rye.load.tool.[a.]b"] },
            { "risk": "safe", "patterns": ["rye.load.tool.a*", "rye.load.tool.[cccc]d", "rye.load.tool.[c.]d"] },
        ],
    }))
    .unwrap();
    let risk = |capability: &str| table.classify_capability(&capability.parse().unwrap());
    assert_eq!(risk("rye.load.tool.cd").by.unwrap().as_str(), "rye.load.tool.[cccc]d");
    assert_eq!(risk("rye.load.tool.ac").risk, Risk::Elevated);
    // The longest rule decides, and the dot in its class does not count.
    assert_eq!(risk("rye.load.tool.ab").by.unwrap().as_str(), "rye.load.tool.[a.]b");
    assert_eq!(risk("rye.load.tool.abc").risk, Risk::Safe);
}

/// Checks the messages about a grant, one for each pattern.
#[track_caller]
fn check_messages(
    patterns: &[&str],
    acknowledgements: &[(&str, &str)],
    expected: &[(Verdict, &str)],
) {
    let grant: Grant = patterns.iter().map(|pattern| pattern.parse::<Pattern>().unwrap()).collect();
    let acknowledgements: Vec<_> = acknowledgements
        .iter()
        .map(|(risk, reason)| Acknowledgement::new(risk, reason).unwrap())
        .collect();
    let findings = table().assess(&grant, &[], &acknowledgements);
    let found: Vec<_> =
        findings.iter().map(|finding| (finding.verdict, finding.to_string())).collect();
    let expected: Vec<_> =
        expected.iter().map(|(verdict, message)| (*verdict, (*message).to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn all_patterns_are_found_at_once_the_riskiest_first() {
    check_messages(
        &["rye.load.*", "rye.execute.tool.rye.bash.bash", "rye.*"],
        &[],
        &[
            (
                Verdict::Block,
                "granting `rye.*` is `unrestricted` by `rye.execute.tool.rye.bash.root` (the super-user) and \
                 refused; add `<acknowledge risk=\"unrestricted\">` with the reason to `<permissions>`, or grant less",
            ),
            (
                Verdict::Warn,
                "granting `rye.execute.tool.rye.bash.bash` is `elevated` by `rye.execute.tool.rye.bash.*` (shell); \
                 add `<acknowledge risk=\"elevated\">` with the reason to `<permissions>`, or grant less",
            ),
            (Verdict::Allow, "granting `rye.load.*` is `safe` by `rye.fetch.*` (reads)"),
        ],
    );
    check_messages(
        &["rye.run.x"],
        &[],
        &[(Verdict::Allow, "granting `rye.run.x` is `safe` because it covers nothing")],
    );
    check_messages(&[], &[("elevated", "not needed")], &[]);
}

#[test]
fn an_acknowledgement_holds_for_its_risk_alone() {
    let acknowledged = "granting `rye.execute.tool.rye.bash.bash` is `elevated` by `rye.execute.tool.rye.bash.*` \
                        (shell), acknowledged: builds";
    check_messages(
        &["rye.execute.tool.rye.bash.bash"],
        &[("elevated", "\n builds ")],
        &[(Verdict::Allow, acknowledged)],
    );
    let refused = "granting `rye.execute.tool.rye.bash.root` is `unrestricted` by `rye.execute.tool.rye.bash.root` \
                   (the super-user) and refused; add `<acknowledge risk=\"unrestricted\">` with the reason to \
                   `<permissions>`, or grant less";
    check_messages(
        &["rye.execute.tool.rye.bash.root"],
        &[("elevated", "builds")],
        &[(Verdict::Block, refused)],
    );
    let warned = "granting `rye.execute.tool.rye.web.*` is `elevated` by `rye.execute.tool.rye.web.*` (shell); add \
                  `<acknowledge risk=\"elevated\">` with the reason to `<permissions>`, or grant less";
    check_messages(
        &["rye.execute.tool.rye.web.*"],
        &[("unrestricted", "all")],
        &[(Verdict::Warn, warned)],
    );
}

#[test]
fn policies_are_those_of_the_table_or_the_defaults() {
    assert_eq!(
        Risk::ALL.iter().map(|risk| RiskTable::default().policy(*risk)).collect::<Vec<_>>(),
        [RiskPolicy::Allow, RiskPolicy::Allow, RiskPolicy::AcknowledgeRequired, RiskPolicy::Block]
    );
    let strict = RiskTable::from_value(&json!({
        "risk_levels": { "safe": { "policy": "block" }, "elevated": { "description": "as it is" } },
        "classifications": [],
    }))
    .unwrap();
    assert_eq!(strict.policy(Risk::Safe), RiskPolicy::Block);
    assert_eq!(strict.policy(Risk::Elevated), RiskPolicy::AcknowledgeRequired);
}

#[test]
fn acknowledgements_need_a_risk_and_a_reason() {
    #[track_caller]
    fn check(risk: &str, reason: &str, expected: &str) {
        assert_eq!(Acknowledgement::new(risk, reason).unwrap_err().to_string(), expected);
    }
    let unknown = "valid are `safe`, `write`, `elevated`, `unrestricted`";
    check(
        "high",
        "why not",
        &format!("an acknowledgement names an unknown risk `high`; {unknown}"),
    );
    check("", "why not", &format!("an acknowledgement names an unknown risk ``; {unknown}"));
    check(
        "Elevated",
        "why not",
        &format!("an acknowledgement names an unknown risk `Elevated`; {unknown}"),
    );
    let reason = "the acknowledgement of `elevated` gives no reason; write between its tags why the risk is taken";
    check("elevated", "", reason);
    check("elevated", " \n\t ", reason);
    for nothing in [
        "\u{200b}",
        "\u{feff}\u{2060}",
        "\u{0}\u{1b}",
        "\u{a0}\u{3000}",
        "\u{3164}",
        "\u{2800}",
        "...",
        "\u{e0041}",
        "\u{202e} \u{ad}",
        "\u{115f}\u{1160}\u{ffa0}",
    ] {
        check("elevated", nothing, reason);
    }
    let acknowledged = Acknowledgement::new("elevated", "\n builds ").unwrap();
    assert_eq!((acknowledged.risk(), acknowledged.reason()), (Risk::Elevated, "builds"));
    for reason in ["ok", "\u{200b}ok", "Übung", "測試", "7"] {
        assert!(Acknowledgement::new("elevated", reason).is_ok(), "{reason}");
    }
}

#[track_caller]
fn check_problems(value: &Value, expected: &[&str]) {
    let error = RiskTable::from_value(value).unwrap_err();
    let found: Vec<_> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
    assert_eq!(
        error.to_string(),
        format!("the risk table cannot be used: {}", expected.join("; "))
    );
}

#[test]
fn a_table_reports_every_problem() {
    check_problems(&json!([]), &["the table is not a mapping"]);
    check_problems(&json!({}), &["`classifications` is missing"]);
    check_problems(
        &json!({
            "clasifications": [],
            "risk_levels": {
                "high": {},
                "safe": { "policy": "ask" },
                "write": "allow",
                "elevated": { "policy": true, "polices": 1, "description": 2 },
            },
            "classifications": [
                { "risk": "high", "patterns": ["rye.{a,b}", 3, "rye.executes.*", "rye.load.*"] },
                { "patterns": [] },
                { "risk": "safe", "pattern": "rye.*" },
                { "risk": ["safe"], "patterns": "rye.*", "description": null },
                "rye.*",
            ],
        }),
        &[
            "`clasifications` is not known; valid are `risk_levels`, `classifications`, `version`, `schema_version`, \
             `category`, `tool_type`, `description`",
            "`risk_levels.high` is not known; valid are `safe`, `write`, `elevated`, `unrestricted`",
            "`risk_levels.safe.policy` names an unknown policy `ask`; valid are `allow`, `acknowledge_required`, \
             `block`",
            "`risk_levels.write` is not a mapping",
            "`risk_levels.elevated.polices` is not known; valid are `policy`, `description`",
            "`risk_levels.elevated.description` is not a text",
            "`risk_levels.elevated.policy` is not a text",
            "`classifications[0].risk` names an unknown risk `high`; valid are `safe`, `write`, `elevated`, \
             `unrestricted`",
            "`classifications[0].patterns[0]` cannot be read: `rye.{a,b}` is not a capability pattern: `{` is not \
             allowed; write one pattern for each alternative; `,` is not allowed; write one pattern for each \
             alternative; `}` is not allowed; write one pattern for each alternative",
            "`classifications[0].patterns[1]` is not a text",
            "`classifications[0].patterns[2]` covers no capability; write `rye.<primary>.<kind>.<id>`, with wildcards",
            "`classifications[1].risk` is missing",
            "`classifications[1].patterns` is empty; write at least one pattern",
            "`classifications[2].pattern` is not known; valid are `risk`, `patterns`, `description`",
            "`classifications[2].patterns` is missing",
            "`classifications[3].description` is not a text",
            "`classifications[3].risk` is not a text",
            "`classifications[3].patterns` is not a list",
            "`classifications[4]` is not a mapping",
        ],
    );
    check_problems(&json!({ "classifications": "rye.*" }), &["`classifications` is not a list"]);
}

/// A row for tools in general says nothing of a tool whose function has a nearer row. A row for the tool alone does.
#[test]
fn a_tool_that_stands_for_a_milder_function_is_as_mild() {
    let status = "rye.execute.tool.rye.web.status".parse().unwrap();
    let known = [Invocation::new("rye.execute.tool.t.z".parse().unwrap(), [status])];
    let risk = |table: &RiskTable, pattern: &str| {
        let grant: Grant = [pattern.parse::<Pattern>().unwrap()].into_iter().collect();
        table.assess(&grant, &known, &[]).remove(0).risk
    };
    assert_eq!(risk(&table(), "rye.execute.tool.t.z"), Risk::Safe);
    assert_eq!(risk(&table(), "rye.execute.tool.t.y"), Risk::Write);
    assert_eq!(risk(&table(), "rye.execute.tool.t.[yz]"), Risk::Write);
    let own = RiskTable::from_value(&json!({
        "version": "1.0.0",
        "category": "agent",
        "classifications": [
            { "risk": "elevated", "patterns": ["rye.execute.tool.t.*"], "description": "ours" },
            { "risk": "safe", "patterns": ["rye.execute.tool.rye.web.status"], "description": "reads" },
        ],
    }));
    assert_eq!(risk(&own.unwrap(), "rye.execute.tool.t.z"), Risk::Elevated);
    // Of two rows of the same risk, the one for the tool is named.
    let alike = RiskTable::from_value(&json!({
        "classifications": [
            { "risk": "safe", "patterns": ["rye.execute.*", "rye.execute.tool.rye.web.status"] },
        ],
    }));
    let grant: Grant = ["rye.execute.tool.t.z".parse::<Pattern>().unwrap()].into_iter().collect();
    let finding = alike.unwrap().assess(&grant, &known, &[]).remove(0);
    assert_eq!(finding.classification.by.unwrap().as_str(), "rye.execute.*");
}

/// A second name for a function is as risky as the function, whatever the table says about the name (SPEC 9.6b).
#[test]
fn a_grant_is_as_risky_as_the_functions_behind_what_it_covers() {
    let invocation = |item: &str, function: &str| {
        Invocation::new(item.parse().unwrap(), [function.parse().unwrap()])
    };
    let root = "rye.execute.tool.rye.bash.root";
    let known = [
        invocation("rye.execute.tool.t.x", root),
        invocation("rye.execute.tool.t.y", "rye.execute.tool.rye.bash.bash"),
        invocation("rye.execute.tool.t.z", "rye.execute.tool.rye.web.status"),
    ];
    let risk = |pattern: &str| {
        let grant: Grant = [pattern.parse::<Pattern>().unwrap()].into_iter().collect();
        let finding = table().assess(&grant, &known, &[]).remove(0);
        (finding.risk, finding.stands_for.map(|(item, _)| item.dotted_id().to_owned()))
    };
    assert_eq!(risk("rye.execute.tool.t.*"), (Risk::Unrestricted, Some("t.x".to_owned())));
    assert_eq!(risk("rye.execute.tool.t.[y-z]"), (Risk::Elevated, Some("t.y".to_owned())));
    assert_eq!(risk("rye.execute.tool.t.z"), (Risk::Safe, None));
    assert_eq!(risk("rye.execute.tool.other"), (Risk::Write, None));
    let grant: Grant = ["rye.execute.tool.t.x".parse::<Pattern>().unwrap()].into_iter().collect();
    assert_eq!(
        table().assess(&grant, &known, &[]).remove(0).to_string(),
        "granting `rye.execute.tool.t.x` is `unrestricted` by `rye.execute.tool.rye.bash.root` (the super-user), \
         because `rye.execute.tool.t.x` stands for `rye.execute.tool.rye.bash.root`, and refused; add \
         `<acknowledge risk=\"unrestricted\">` with the reason to `<permissions>`, or grant less",
    );
}
