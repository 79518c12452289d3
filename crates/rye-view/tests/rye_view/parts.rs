//! Threads that do not fit on one page, as a server shows them.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;

use rye_transcript::{Reading, ThreadId, ThreadRecord};
use rye_types::Moment;
use rye_view::serve::{Threads, serve};
use rye_view::{Listed, Signer, Source};
use serde_json::{Value, json};

use crate::recording::{CHILD, Recording, THREAD};
use crate::sweep::{is_whole, sweep};

/// A server of one thread.
struct One {
    record: ThreadRecord,
    reading: Reading,
    standing: &'static str,
}

impl Threads for One {
    fn project(&self) -> String {
        "service".to_owned()
    }

    fn list(&self) -> Result<Vec<Listed>, String> {
        Ok(Vec::new())
    }

    fn thread(&self, _: &ThreadId, show: &mut dyn FnMut(&Source<'_>)) -> Result<(), String> {
        let now = Moment::from_unix_millis(0);
        let mut source = Source::new(&self.record, &self.reading, Signer::Trusted, now);
        source.standing = self.standing;
        show(&source);
        Ok(())
    }

    fn tighten(&self, _: &ThreadId) -> Result<String, String> {
        Err("nothing to judge by".to_owned())
    }

    fn pulse(&self, _: &ThreadId) -> Option<String> {
        None
    }
}

/// Serves a thread while `look` asks for its pages.
fn serving(
    recording: &Recording,
    standing: &'static str,
    look: impl FnOnce(&dyn Fn(&str) -> String),
) {
    let one = One { record: recording.record(), reading: recording.reading(), standing };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build();
    let runtime = runtime.unwrap();
    let listener =
        runtime.block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let _server =
        runtime.spawn(serve(Arc::new(one), None, listener, "token", std::future::pending()));
    look(&|place| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head =
            format!("GET /token/{place} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut response = String::new();
        // The events of a thread that runs do not end; the first one is enough.
        let mut buffer = [0; 65_536];
        loop {
            let count = stream.read(&mut buffer).unwrap();
            response.push_str(&String::from_utf8_lossy(&buffer[..count]));
            let is_event = response.contains("text/event-stream") && response.ends_with("\n\n\r\n");
            if count == 0 || is_event {
                return response;
            }
        }
    });
}

fn page(get: &dyn Fn(&str) -> String, query: &str) -> String {
    get(&format!("thread/{THREAD}{query}"))
}

const TURNS: u64 = 600;

/// A thread of some 2,400 records with an approval, an error and a needle.
fn long() -> Recording {
    let mut recording = Recording::begin();
    for turn in 1..=TURNS {
        let text = if turn == 421 { "A \"needle\" in the hay." } else { "ok" };
        let result = if turn == 300 { json!({ "failed": true }) } else { json!(text) };
        let id = format!("c{turn}");
        recording.turn(turn).call(&id, "rye/bash/bash", json!({ "command": "true" }), result);
        if turn % 100 == 0 {
            recording.checkpoint();
        }
    }
    recording
}

fn values<'a>(page: &'a str, before: &str) -> Vec<&'a str> {
    page.split(before).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// The numbers of the records whose lines a page holds.
fn lines(page: &str) -> Vec<u64> {
    let lines = page.split("<article class=\"one\" id=\"p").skip(1);
    lines.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
}

/// Each record is on exactly one page, pages are of bounded size, and each link leads to an element that is there.
#[test]
fn every_record_has_a_page_and_every_link_a_target() {
    let mut recording = long();
    recording.end();
    check_parts(&recording, 100);
}

/// One turn of 3,000 records, or of 1,000 unless the sweep is whole.
#[test]
fn a_turn_of_any_length_makes_no_long_page() {
    let mut turn = Recording::begin();
    turn.turn(1);
    for number in sweep(0..1_500, 0, 3) {
        let command = json!({ "command": format!("run {number}") });
        turn.call(&format!("c{number}"), "rye/bash/bash", command, json!("ok"));
    }
    turn.end();
    check_parts(&turn, 10);
}

/// Results that are full of hidden characters, each of which takes much markup.
#[test]
fn a_text_of_any_length_makes_no_long_page() {
    let mut texts = Recording::begin();
    let n_texts = if is_whole() { 60 } else { 36 };
    for number in 1..=n_texts {
        let text = "\u{202e}a\u{200b}".repeat(10_000);
        texts.turn(number).call(&format!("c{number}"), "rye/bash/bash", json!({}), json!(text));
    }
    texts.end();
    check_parts(&texts, 10);
}

/// Follows all parts of a thread, whose pages have at least so many links to others.
fn check_parts(recording: &Recording, least: usize) {
    let count = recording.reading().records.len() as u64;
    serving(recording, "completed", |get| {
        let (mut pages, mut at) = (Vec::new(), 0);
        while at < count {
            let page = page(get, &format!("?record={at}"));
            let lines = lines(&page);
            assert_eq!(lines[0], at, "a page begins where the one before ends");
            assert!(lines.len() < 600, "{}", lines.len());
            assert!(page.len() < 10_000_000, "{}", page.len());
            at += lines.len() as u64;
            assert_eq!(lines.last(), Some(&(at - 1)), "a page has no gap");
            pages.push((at, page));
        }
        let ids = |(end, page): &(u64, String)| {
            (*end, values(page, " id=\"").into_iter().map(str::to_owned).collect::<BTreeSet<_>>())
        };
        let ids: Vec<(u64, BTreeSet<String>)> = pages.iter().map(ids).collect();
        let mut others = 0;
        for ((_, page), (_, here)) in pages.iter().zip(&ids) {
            let own = values(page, "href=\"#").into_iter().filter(|link| !link.starts_with("i-"));
            let lost: Vec<&str> = own.filter(|link| !here.contains(*link)).collect();
            assert!(lost.is_empty(), "{lost:?}");
            for target in values(page, "href=\"?record=") {
                let (record, element) = target.split_once('#').unwrap();
                let record: u64 = record.parse().unwrap();
                let (_, there) = ids.iter().find(|(end, _)| record < *end).unwrap();
                assert!(there.contains(element), "{target}");
                others += 1;
            }
        }
        assert!(others > least, "{others}");
        let found = page(get, "?find=rye");
        assert!(lines(&found).len() < 600 && found.len() < 10_000_000, "{}", found.len());
    });
}

/// The arguments and the result of a call may be unreadable for themselves. Its capability and its refusal are shown nevertheless.
#[test]
fn the_authority_of_an_unreadable_call_is_shown() {
    let mut deep = json!("x");
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let refusal =
        json!({ "capability": "rye.execute.tool.x", "message": "Not you.", "layer": "operator" });
    for is_refused in [true, false] {
        let mut recording = Recording::begin();
        let refusal = if is_refused { refusal.clone() } else { json!(null) };
        recording.turn(1).intent("d", "x/y", deep.clone()).add(
            "tool_call_result",
            json!({ "call_id": "d", "name": "x", "content": deep, "is_error": is_refused, "refusal": refusal }),
        );
        assert_eq!(recording.reading().unread().count(), 2);
        serving(&recording, "running", |get| {
            let page = get(&format!("authority/{THREAD}"));
            assert_eq!(page.contains("Not you."), is_refused, "{page}");
            assert_eq!(page.contains("No call was carried out."), is_refused, "{page}");
        });
    }
}

/// The end of a child that a turn started and did not wait for is sent to the page that shows that turn.
#[test]
fn the_end_of_a_child_is_sent_with_the_turn_that_started_it() {
    let mut recording = Recording::begin();
    recording.turn(1).intent("d", "x/y", json!({})).add(
        "spawn_child",
        json!({
            "call_id": "d", "thread": CHILD, "directive": "release/notes", "async": true,
            "limits": { "turns": 1, "tokens": 1, "spend_nanos": "unlimited", "duration_seconds": 1, "spawns": 0, "depth": 0 },
        }),
    );
    recording.add("tool_call_result", json!({ "call_id": "d", "name": "x", "content": "begun", "is_error": false, "refusal": null }));
    recording.turn(2);
    let since = recording.reading().records.len();
    recording.add("child_ended", json!({ "thread": CHILD, "state": "completed", "cost_nanos": 2_000_000, "records": 5, "head": "00" }));
    serving(&recording, "running", |get| {
        let response = get(&format!("events/{THREAD}?since={since}"));
        let (_, event) = response.split_once("data: ").unwrap();
        let event: Value = serde_json::from_str(event.lines().next().unwrap()).unwrap();
        let parts = event["parts"].as_array().unwrap();
        let turn = parts.iter().find(|part| part[0] == "t1").unwrap();
        assert!(turn[2].as_str().unwrap().contains("completed"), "{turn}");
    });
}

#[test]
fn an_ended_thread_begins_at_its_first_record_and_a_running_one_at_its_last() {
    let recording = long();
    let count = recording.reading().records.len() as u64;
    for (standing, is_first) in [("error", true), ("running", false), ("suspended", false)] {
        serving(&recording, standing, |get| {
            let page = page(get, "");
            let lines = lines(&page);
            assert_eq!(lines[0] == 0, is_first, "{standing}");
            assert_eq!(lines.last() == Some(&(count - 1)), !is_first, "{standing}");
            assert_eq!(page.contains("data-events"), !is_first, "{standing}");
        });
    }
}

/// A short thread is one page without links to parts.
#[test]
fn a_short_thread_has_no_parts() {
    let mut recording = Recording::begin();
    recording.turn(1).end();
    serving(&recording, "completed", |get| {
        let page = page(get, "");
        assert!(!page.contains("href=\"?record="), "{page}");
    });
}

/// The server searches in all parts, in texts as they are shown, and without a script.
#[test]
fn a_search_finds_what_other_parts_hold() {
    let mut recording = long();
    recording.end();
    serving(&recording, "completed", |get| {
        let found = page(get, "?find=%22NEEDLE%22+in");
        assert!(found.contains("1 entry with <strong>&quot;needle&quot; in</strong>"));
        assert_eq!(lines(&found).len(), 2, "the call and its result");
        assert!(found.contains("id=\"t421\"") && !found.contains("id=\"t420\""));
        let many = page(get, "?find=true");
        assert!(many.contains("600 entries with") && many.contains("the first ones are shown"));
        assert_eq!(lines(&many).len(), 400);
        let none = page(get, "?find=%3Cscript%3E");
        assert!(none.contains("0 entries with <strong>&lt;script&gt;</strong>"));
        assert!(!none.contains("data-events"));
    });
}

/// What is sent of a running thread is as long as what is new, and not as the thread.
#[test]
fn events_hold_the_parts_that_the_page_shows() {
    let recording = long();
    let count = recording.reading().records.len() as u64;
    let cases = [("running", "", true), ("running", "&record=0", false), ("completed", "", true)];
    for (standing, query, is_newest) in cases {
        serving(&recording, standing, |get| {
            let response = get(&format!("events/{THREAD}?since={}{query}", count - 5));
            let (_, event) = response.split_once("data: ").unwrap();
            let event: Value = serde_json::from_str(event.lines().next().unwrap()).unwrap();
            assert_eq!(event["records"], count);
            assert_eq!(event["first"] == 0, !is_newest);
            let parts = event["parts"].as_array().unwrap();
            let ids: Vec<&str> = parts.iter().map(|part| part[0].as_str().unwrap()).collect();
            let fixed = ["about", "timeline", "outline", "foot", "parts", "parts-below"];
            assert_eq!(&ids[..6], fixed);
            let new: Vec<&str> = ids[6..].to_vec();
            let last = format!("p{}", count - 1);
            assert_eq!(new.contains(&last.as_str()), is_newest, "{new:?}");
            assert!(new.len() < 9, "{new:?}");
        });
    }
}
