use super::*;

fn sample() -> Lock {
    let digest = Digest::of(b"a");
    let item = |kind: &str, id: &str| LockedItem {
        kind: kind.to_owned(),
        id: id.to_owned(),
        space: "project".to_owned(),
        digest,
        signer: "unsigned".to_owned(),
    };
    let texts =
        (Some("Be\u{1b} brief.\r\n\n".to_owned()), "''' \"\"\" \\ say {input:x}\n  \n".to_owned());
    let locked = LockedDirective {
        items: vec![item("directive", "a/b"), item("knowledge", "a/c")],
        tools: vec![LockedTool { name: "rye_execute".to_owned(), id: None, spec: digest }],
        digest: crate::opening_digest::opening_digest(texts.0.as_deref(), &texts.1),
        system: texts.0,
        first_user_message: texts.1,
        facts: BTreeMap::from([("limit `turns`".to_owned(), "5".to_owned())]),
    };
    let listed = [serde_json::json!({
        "name": "read", "description": "Reads \u{200b}\"it\".", "inputSchema": { "type": "object", "a": 1 }
    })];
    let mut lock = Lock {
        is_of_project: true,
        directives: BTreeMap::from([("a/b".parse().unwrap(), locked)]),
        servers: BTreeMap::new(),
    };
    lock.insert_server("notes", ToolSet::of(&listed).unwrap());
    lock.insert_server("silent", ToolSet::default());
    lock
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = text.parse::<Lock>().unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_lock_is_read_as_it_was_written() {
    for lock in [Lock::default(), sample()] {
        let text = lock.to_string();
        assert_eq!(text.parse(), Ok(lock.clone()));
        assert_eq!(text.replace('\n', "\r\n").parse(), Ok(lock), "with the line ends of Windows");
    }
}

#[test]
fn a_later_format_is_named() {
    refused(
        "version = 2\nnews = true\n",
        "the lock has format 2, and this version of Rye reads format 1; use the version that wrote it",
    );
}

#[test]
fn a_text_that_was_edited_is_refused() {
    let text = sample().to_string().replacen("brief", "long", 1);
    refused(
        &text,
        "the texts of directive `a/b` in the lock do not have the digest that it states; write it again with `rye lock a/b`",
    );
}

#[test]
fn a_directive_may_not_occur_twice() {
    let text = sample().to_string();
    let (header, rest) = text.split_once("[[directive]]").unwrap();
    let (table, servers) = rest.split_once("[[server]]").unwrap();
    let twice = format!("{header}[[directive]]{table}[[directive]]{table}[[server]]{servers}");
    refused(
        &twice,
        "the lock cannot be read: it has directive `a/b` twice; write it again with `rye lock`",
    );
}

#[test]
fn what_is_not_known_is_refused() {
    let text = sample().to_string().replacen("signer", "singer", 1);
    let error = text.parse::<Lock>().unwrap_err().to_string();
    assert!(error.contains("unknown field `singer`"), "{error}");
}

#[test]
fn a_server_that_was_edited_is_refused() {
    let text = sample().to_string().replacen("Reads", "Writes", 1);
    refused(
        &text,
        "what server `notes` offers does not have the digest that the lock states; write it again with `rye lock --server notes`",
    );
}

#[test]
fn what_was_not_edited_is_still_there_for_who_mends_the_rest() {
    let whole = sample();
    let text = whole.to_string().replacen("Reads", "Writes", 1).replacen("brief", "long", 1);
    let (lock, damaged) = Lock::salvage(&text).unwrap();
    let [directive, server] = damaged.as_slice() else { panic!("{damaged:?}") };
    assert!(matches!(directive, LockError::Edited { id } if id.as_str() == "a/b"), "{directive}");
    assert!(matches!(server, LockError::EditedServer { server } if server == "notes"), "{server}");
    assert_eq!((lock.directives().count(), lock.server("notes")), (0, None));
    assert_eq!(lock.server("silent"), whole.server("silent"));
    assert_eq!(Lock::salvage(&whole.to_string()), Ok((whole, Vec::new())));
    assert!(Lock::salvage("version = 1\nnews = true\n").is_err());
}
