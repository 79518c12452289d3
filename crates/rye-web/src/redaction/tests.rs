use proptest::prelude::*;
use serde_json::json;

use super::encodings::{Form, of};
use super::pattern::Pattern;
use super::spelling::Spelled;
use super::*;

const SECRET: &str = "s3cr+t/&\"Key\\%=";

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(Redactor::new("k", SECRET).redact(text), expected, "{text}");
}

/// Checks that the text is a form of the secret and is redacted completely, in any context.
#[track_caller]
fn hides(secret: &str, text: &str) {
    let hidden = Redactor::new("k", secret);
    assert_eq!(hidden.redact(text), "[credential k]", "{text}");
    let within = format!("<{text}>\"{text}");
    assert_eq!(hidden.redact(&within), "<[credential k]>\"[credential k]", "{within}");
}

#[test]
fn a_secret_is_found_in_every_usual_spelling() {
    let each = |spelled: &dyn Fn(char) -> String| SECRET.chars().map(spelled).collect::<String>();
    for text in [
        SECRET.to_owned(),
        SECRET.to_uppercase(),
        // JSON, and formats with similar escapes.
        json!(SECRET).to_string().trim_matches('"').replace("\\\"Key", "\\u0022Key"),
        r"s3cr+t\/&\u0022Key\\%=".to_owned(),
        r"s3cr\u002Bt/\u0026\u0022Key\u005C%=".to_owned(),
        r"s3cr\u002bt\u002f\u0026\u0022\u004Bey\u005c\u0025\u003d".to_owned(),
        r"s3cr\u{2b}t\u{00002f}&\x22Key\x5C%\=".to_owned(),
        each(&|char| format!("\\u{:04X}", u32::from(char))),
        each(&|char| format!("\\x{:02x}", u32::from(char))),
        // URLs.
        "s3cr%2Bt%2F%26%22Key%5C%25%3D".to_owned(),
        "s3cr%2bt%2f%26%22%4bey%5c%25%3D".to_owned(),
        "%73%33cr+t/%26\"Key%5C%=".to_owned(),
        each(&|char| format!("%{:02X}", u32::from(char))),
        // HTML.
        "s3cr+t/&amp;&quot;Key\\%=".to_owned(),
        "s3cr&plus;t&sol;&amp&QUOT;Key&bsol;&percnt;&equals;".to_owned(),
        "s3cr&#43;t&#47&#38;&#0034;Key&#92;&#37;&#61;".to_owned(),
        "s3cr&#x2b;t&#X2F;&#x26;&#x00022;Key&#x5c;&#x25;&#x3D;".to_owned(),
        each(&|char| format!("&#{};", u32::from(char))),
        // Nested spellings.
        "s3cr%252Bt%252F%2526%2522Key%255C%2525%253D".to_owned(),
        r"s3cr\\u002bt\\\/&\\\u0022Key\\\\%=".to_owned(),
        r"s3cr\u00252Bt\u0025\u0032F&amp;#38;&quot;Key&amp;#92;&#37;25&#61;".to_owned(),
        "s3cr&amp;#43;t&amp;#x2f;&amp;amp;&amp;quot;Key&#37;5c%&#37;3D".to_owned(),
    ] {
        hides(SECRET, &text);
    }
    hides("two words", "two+words");
    hides("two words", "two%20words");
    hides("two words", "two&#32;words");
}

#[test]
fn a_secret_is_found_in_the_notations_of_bytes() {
    let secret = "sk-4f>?5f?b";
    // With none, one and two bytes before it, in both alphabets.
    hides(secret, "c2stNGY+PzVmP2I");
    hides(secret, "c2stNGY-PzVmP2I");
    let hidden = Redactor::new("k", secret);
    for (text, expected) in [
        ("dXNlcjpzay00Zj4/NWY/Yg==", "dXNlcj[credential k]=="),
        ("dTpzay00Zj4/NWY/Yg==", "dT[credential k]=="),
        ("dTpzay00Zj4_NWY_Yg", "dT[credential k]"),
        ("Basic dTpzay00Zj4\\/NWY%2fYg%3D%3d", "Basic dT[credential k]%3D%3d"),
        ("dXM6c2stNGY+PzVmP2I=", "dXM6[credential k]="),
        ("OnNrLTRmPj81Zj9iOg==", "O[credential k]Og=="),
        ("dTpzay00\r\nZj4/NWY/\nYg==", "dT[credential k]=="),
        (r"dTpzay00\r\nZj4\/N\u000aWY/Yg", "dT[credential k]"),
        ("dTpzay00 Zj4/NWY/Yg", "dTpzay00 Zj4/NWY/Yg"),
        ("736B2D34663e3f3566 3f62", "736B2D34663e3f3566 3f62"),
        ("736B2D34663e3f3566\n3f62", "736B2D34663e3f3566\n3f62"),
        ("736B2D34663e3f35663f62", "[credential k]"),
    ] {
        assert_eq!(hidden.redact(text), expected, "{text}");
    }
    // In the other direction, the secret is the encoded text that a server decodes.
    let pair = "dXNlci1uYW1lOmh1bnRlcjIy";
    for text in [pair, "user-name:hunter22", "hunter22", "user-name%3Ahunter22"] {
        hides(pair, text);
        hides(&format!("Basic {pair}"), text);
        hides(&format!("Basic {pair}"), &format!("Basic {pair}"));
    }
    hides("Bearer 0123456789", "0123456789");
    let text = r"the user-name is no secret: \u0075ser-name, dXNlci1uYW1l";
    assert_eq!(Redactor::new("k", &format!("Basic {pair}")).redact(text), text);
    // Too short to distinguish from other text.
    let short = Redactor::new("k", "Basic eDp5");
    assert_eq!(short.redact("eDp5 x:y y Basic"), "eDp5 x:y y Basic");
}

#[test]
fn what_is_not_a_secret_stays() {
    for text in [
        "",
        "s3cr",
        "s3cr+t/&\"Key\\%",
        "s3cr+t/&\"Key\\%\u{2}=",
        "\\u",
        "\\u00",
        "%",
        "%2",
        "&",
        "&#",
        "&#x",
        "&#;",
        "&amp",
        "caf\u{e9} \\ud83d\\ude00 %C3%A9",
        "&#99999999999;&DiacriticalGraves;",
    ] {
        check(text, text);
    }
    // More layers than programs write.
    check("s3cr%2525252Bt/&\"Key\\%=", "s3cr%2525252Bt/&\"Key\\%=");
    let value = json!({ "a": [1, true, null, 12_345_678], "12345678": 0.5, "b": 123_456_789 });
    let told = Redactor::new("k", "12345678").redact_value(value);
    let expected = json!({ "a": [1, true, null, "[credential k]"], "[credential k]": 0.5, "b": "[credential k]9" });
    assert_eq!(told, expected);
    assert!(!format!("{:?}", Redactor::new("k", SECRET)).contains("s3cr"));
}

#[test]
fn what_overlaps_is_taken_out_as_one() {
    let hidden = Redactor::new("k", "aXa");
    assert_eq!(hidden.redact("aXaXaXa-aXa"), "[credential k]-[credential k]");
    assert_eq!(Redactor::new("k", "xx").redact(&"x".repeat(1001)), "[credential k]");
    assert_eq!(Redactor::new("k", "").redact("x"), "x");
    // A long match that begins before a short one, both within another short one.
    let hidden = Redactor::new("k", "xxxxxxxx yy xxxxxx");
    assert_eq!(hidden.redact("xxxxxxxxx yy xxxxxx."), "[credential k].");
    assert_eq!(Redactor::new("k", "00").redact("0&#00&#52;8;0"), "[credential k]");
}

/// Returns the number of readings for reading the text at each of its places.
fn asked(text: &str) -> usize {
    let mut spelled = Spelled::new(text.as_bytes());
    let mut readings = Vec::new();
    for at in (0..text.len()).rev() {
        spelled.readings(at, &mut readings);
    }
    spelled.asked
}

/// The largest number of readings for each byte, so that the time grows with the length alone.
const MOST: usize = 60;

#[test]
fn what_can_be_read_in_many_ways_is_read_once() {
    let letters = |spelled: &dyn Fn(u8) -> String| {
        let name = "DiacriticalGrave".bytes().map(spelled).collect::<String>();
        format!("&{name}").repeat(20_000 / name.len())
    };
    for text in [
        "&#3&#56;".repeat(2_500),
        "&#9&#55;".repeat(2_500),
        letters(&|letter| format!("&#{letter}")),
        letters(&|letter| format!("&#{letter};")),
        letters(&|letter| {
            let tens = letter / 10;
            let ones = letter % 10;
            format!("&#{tens}&#{};", ones + b'0')
        }),
        letters(&|letter| format!("&#&#{};&#{};", letter / 10 + b'0', letter % 10 + b'0')),
        "\\".repeat(10_000),
        "&amp;".repeat(4_000),
        "%25".repeat(6_600),
        "+".repeat(20_000),
    ] {
        let asked = asked(&text);
        assert!(asked <= MOST * text.len(), "{asked} in {text:.40}");
    }
}

/// The same search, done anew at each place.
fn naive(form: &[super::encodings::Class], text: &[u8], at: usize) -> Option<usize> {
    let Some((class, rest)) = form.split_first() else { return Some(at) };
    let mut readings = Vec::new();
    Spelled::new(text).readings(at, &mut readings);
    let passes = |byte| class.is_after_break && matches!(byte, b'\r' | b'\n');
    let ends = readings.iter().filter_map(|(byte, end)| {
        let fitting = class.has(*byte).then(|| naive(rest, text, *end)).flatten();
        fitting.max(passes(*byte).then(|| naive(form, text, *end)).flatten())
    });
    ends.max()
}

fn expected(forms: &[Form], text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for at in 0..text.len() {
        let ends = forms.iter().filter_map(|form| naive(form, text, at));
        match (ends.max(), ranges.last_mut()) {
            (Some(end), Some(last)) if at < last.end => last.end = last.end.max(end),
            (Some(end), _) => ranges.push(at..end),
            (None, _) => {}
        }
    }
    ranges
}

/// Returns a character in one of the spellings.
fn spelled(char: char, way: u8) -> String {
    let code = u32::from(char);
    match way % 8 {
        0 => format!("\\u{code:04x}"),
        1 => format!("\\u{code:04X}"),
        2 => format!("%{code:02x}"),
        3 => format!("%{code:02X}"),
        4 => format!("&#{code};"),
        5 => format!("&#x{code:X};"),
        6 if char.is_ascii_punctuation() => format!("\\{char}"),
        _ => char.to_string(),
    }
}

fn disguised(text: &str, ways: &[u8]) -> String {
    let ways = ways.iter().cycle();
    text.chars().zip(ways).map(|(char, way)| spelled(char, *way)).collect()
}

proptest! {
    #[test]
    fn no_text_takes_longer_than_its_length_says(
        piece in "(&|#|&#|x|;|[0-9]|&#5|&#[0-9]{2};|&#x3|semi|&semi;|amp;|&#38;|%|25|\\\\|u|u00|\\{|\\}|\\+|[A-Za-z]){1,40}",
        times in 1_usize..12,
    ) {
        let text = piece.repeat(times);
        let asked = asked(&text);
        prop_assert!(asked <= MOST * text.len(), "{} in {}", asked, text);
    }

    #[test]
    fn the_scan_finds_what_trying_each_place_finds(
        secret in "[ab \\\\%&+2u]{1,12}|a{6,8} bb? a{6,7}",
        text in "(a|aaaaa|b| |\\\\|%|&|\\+|2|5|6|u|0|#|x|;|amp|\\\\u0025|%25|&#38;|\u{e9}){0,40}",
    ) {
        let forms = of(&secret);
        let found = Pattern::new(&forms).ranges(text.as_bytes());
        prop_assert_eq!(found, expected(&forms, text.as_bytes()));
    }

    #[test]
    fn three_disguises_around_each_other_hide_nothing(
        secret in "[ -~]{6,20}",
        ways in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..9), 0..4),
        around in "[ -~\u{e9}\u{1f600}]{0,8}",
    ) {
        let text = ways.iter().fold(secret.clone(), |text, ways| disguised(&text, ways));
        let told = Redactor::new("k", &secret).redact(&format!("{around}{text}{around}"));
        prop_assert!(told.contains("[credential k]"), "{} in {}", secret, told);
        prop_assert!(!told.contains(&text), "{} in {}", text, told);
    }

    #[test]
    fn whatever_bytes_there_are_the_rest_stays(
        secret in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let text = String::from_utf8_lossy(&bytes);
        let told = Redactor::new("k", &secret).redact(&text);
        prop_assert!(told == text || told.contains("[credential k]"));
    }
}
