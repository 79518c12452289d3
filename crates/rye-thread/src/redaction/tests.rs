use proptest::prelude::*;
use serde_json::json;

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
fn a_secret_is_found_as_formats_write_it() {
    for text in [
        SECRET.to_owned(),
        SECRET.to_uppercase(),
        // JSON, by the libraries of several languages.
        json!(SECRET).to_string().trim_matches('"').to_owned(),
        r#"s3cr+t\/&\"Key\\%="#.to_owned(),
        r"s3cr\u002bt/\u0026\u0022Key\\%=".to_owned(),
        r"s3cr\u002Bt/\u0026\u0022Key\\%=".to_owned(),
        // Addresses.
        "s3cr%2Bt%2F%26%22Key%5C%25%3D".to_owned(),
        "s3cr%2bt%2f%26%22Key%5c%25%3d".to_owned(),
        // HTML.
        "s3cr+t/&amp;&quot;Key\\%=".to_owned(),
        "s3cr+t/&amp;&#34;Key\\%=".to_owned(),
        // Two formats around each other.
        "s3cr%252Bt%252F%2526%2522Key%255C%2525%253D".to_owned(),
        r#"s3cr+t/&\\\"Key\\\\%="#.to_owned(),
        r"s3cr+t/&amp;&quot;Key\\%=".to_owned(),
        "s3cr+t/&amp;amp;&amp;quot;Key\\%=".to_owned(),
    ] {
        hides(SECRET, &text);
    }
    hides("two words", "two+words");
    hides("two words", "two%20words");
    hides("it's(two)!", "it%27s%28two%29%21");
    hides("it's(two)!", "it's(two)!");
    hides("it's", "it&#39;s");
    hides("it's", "it&#x27;s");
    hides("caf\u{e9}\u{1f600}", r"caf\u00e9\ud83d\ude00");
    hides("caf\u{e9}", "caf%C3%A9");
    hides("ends with \"", r#"ends with \""#);
    hides("a\nb", r"a\nb");
}

#[test]
fn a_secret_is_found_in_the_notations_of_bytes() {
    let secret = "sk-4f>?5f?b";
    // With none, one and two bytes before it, in both alphabets.
    hides(secret, "c2stNGY+PzVmP2");
    hides(secret, "c2stNGY-PzVmP2");
    let hidden = Redactor::new("k", secret);
    for (text, expected) in [
        ("c2stNGY+PzVmP2I=", "[credential k]I="),
        ("dXNlcjpzay00Zj4/NWY/Yg==", "dXNlcjp[credential k]g=="),
        ("dTpzay00Zj4/NWY/Yg==", "dTp[credential k]g=="),
        ("dTpzay00Zj4_NWY_Yg", "dTp[credential k]g"),
        ("Basic dTpzay00Zj4\\/NWY\\/Yg==", "Basic dTp[credential k]g=="),
        ("Basic dTpzay00Zj4%2FNWY%2fYg%3D%3d", "Basic dTp[credential k]g%3D%3d"),
        ("dXM6c2stNGY+PzVmP2I=", "dXM6[credential k]I="),
        ("OnNrLTRmPj81Zj9iOg==", "On[credential k]Og=="),
        ("dTpzay00\r\nZj4/NWY/\nYg==", "dTpzay00\r\nZj4/NWY/\nYg=="),
        ("736B2D34663e3f3566 3f62", "736B2D34663e3f3566 3f62"),
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
        // More formats than programs write around each other, and letters that no format escapes.
        "s3cr%25252Bt%25252F%252526%252522Key%25255C%252525%25253D",
        "%733cr+t/&\"Key\\%=",
    ] {
        check(text, text);
    }
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
}

proptest! {
    #[test]
    fn the_secret_is_in_no_redacted_text(
        secret in "[ab\"%+&]{1,12}|a{6,8} bb? a{6,7}",
        text in "(a|aaaaa|b| |\"|%|&|\\+|2|5|6|u|\\\\u0022|%25|&amp;|\u{e9}){0,40}",
        before in 0..40_usize,
    ) {
        let before = text.char_indices().nth(before).map_or(text.len(), |(at, _)| at);
        let text = format!("{}{secret}{}", &text[..before], &text[before..]);
        let told = Redactor::new("k", &secret).redact(&text);
        let rest: Vec<&str> = told.split("[credential k]").collect();
        prop_assert!(1 < rest.len() && rest.iter().all(|part| !part.contains(&secret)), "{told}");
    }

    #[test]
    fn two_formats_around_each_other_hide_nothing(
        secret in "[ -~]{6,20}",
        formats in prop::collection::vec(0..encodings::FORMATS.len(), 0..3),
        around in "[ -~\u{e9}\u{1f600}]{0,8}",
    ) {
        let format = |text: String, at: usize| encodings::FORMATS[at](&text);
        let text = formats.into_iter().fold(secret.clone(), format);
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
