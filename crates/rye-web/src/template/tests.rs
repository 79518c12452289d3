use proptest::prelude::*;
use serde_json::json;

use super::*;

fn address() -> Address {
    let text = |text: &str| Placing::Text(text.to_owned());
    Address::new(&Template::new(vec![
        text("https://api.example.org:8443/v1/a-"),
        Placing::Needed("id".to_owned()),
        text("/x?fixed=1&q="),
        Placing::Optional("q".to_owned(), None),
        text("&n=<"),
        Placing::Optional("n".to_owned(), Some("5".to_owned())),
        text(">"),
    ]))
    .unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "rows read better")]
fn url(arguments: Value) -> Result<Url, ArgumentFault> {
    address().url(arguments.as_object().unwrap())
}

#[test]
fn what_is_left_out() {
    let check = |arguments, expected: &str| assert_eq!(url(arguments).unwrap().as_str(), expected);
    check(json!({ "id": 7 }), "https://api.example.org:8443/v1/a-7/x?fixed=1&n=%3C5%3E");
    check(
        json!({ "id": true, "q": null, "n": "" }),
        "https://api.example.org:8443/v1/a-true/x?fixed=1&n=%3C%3E",
    );
    // Without the segment, the path would mean something else.
    let part = Placing::Optional("id".to_owned(), None);
    let one = vec![Placing::Text("https://api.example.org/items/".to_owned()), part];
    let none = Address::new(&Template::new(one)).unwrap().url(&Map::new());
    assert_eq!(none, Err(ArgumentFault::Empty { name: "id".to_owned() }));
    let missing = ArgumentFault::Missing { name: "id".to_owned() };
    assert_eq!(url(json!({})), Err(missing));
    let compound =
        |name: &str| ArgumentFault::Compound { name: name.to_owned(), place: "an address" };
    assert_eq!(url(json!({ "id": ["a"] })), Err(compound("id")));
    assert_eq!(url(json!({ "id": "a", "q": {} })), Err(compound("q")));
}

/// Generates text that is rich in characters with a meaning in URLs.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("/".to_owned()),
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just("?".to_owned()),
        Just("#".to_owned()),
        Just("&".to_owned()),
        Just("=".to_owned()),
        Just("@".to_owned()),
        Just("%2e".to_owned()),
        Just("%2F".to_owned()),
        Just("\\".to_owned()),
        Just("\r\n".to_owned()),
        Just("//evil.test".to_owned()),
        Just(":80".to_owned()),
        Just("\0".to_owned()),
        ".{0,3}",
        "[a-z]{1,3}",
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_value_is_more_than_its_place(id in hostile(), q in hostile(), n in hostile()) {
        match url(json!({ "id": id, "q": q, "n": n })) {
            Ok(url) => {
                prop_assert_eq!(url.as_str().get(..32), Some("https://api.example.org:8443/v1/"));
                prop_assert_eq!(url.fragment(), None);
                let segments: Vec<&str> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 3);
                prop_assert_eq!(segments[2], "x");
                let expected = [("fixed", "1".to_owned()), ("q", q), ("n", format!("<{n}>"))];
                let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
                let expected = expected.map(|(name, value)| (name.to_owned(), value));
                prop_assert_eq!(pairs, expected.to_vec());
            }
            Err(fault) => {
                let name = |part: &str| part.split(';').next().unwrap().to_owned();
                let dots = id.split(['/', '\\']).any(|part| [".", ".."].contains(&name(part).as_str()));
                prop_assert!(id.is_empty() || dots, "{fault}");
            }
        }
    }
}
