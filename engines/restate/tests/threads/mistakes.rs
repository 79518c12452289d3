//! Addresses, tokens and options that are wrong: each has its sentence, and nothing is done.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use crate::check_completed;
use crate::lab::Lab;

/// Serves on a port of its own until the process ends: a web site, which wants a token where its path says so.
fn serve_site() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            drop(answer(stream));
        }
    });
    port
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let lines = BufReader::new(stream.try_clone()?).lines();
    let head: Vec<String> =
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let is_private = head.iter().any(|line| line.starts_with("POST /private/"));
    let has_token =
        head.iter().any(|line| line.eq_ignore_ascii_case("authorization: bearer right"));
    let (status, text) = match is_private && !has_token {
        true => ("401 Unauthorized", "a token is missing"),
        false => ("200 OK", "<html></html>"),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    )
}

/// Each wrong address of an engine is an error of its own, and leaves no thread.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_wrong_engine_is_told_of() {
    let lab = Lab::new().await;
    let here = lab.project("here");
    let site = serve_site();
    let engine = lab.engine();
    let nothing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = format!("the engine at `http://127.0.0.1:{nothing}/` does not answer");
    let without_tls = engine.replace("http:", "https:");
    let refused_tls = format!("the engine at `{without_tls}/` does not answer");
    let rows: [(&str, String, &str, i32, &str); 7] = [
        ("unreachable", format!("http://127.0.0.1:{nothing}"), "", 1, &silent),
        ("no TLS there", without_tls.clone(), "", 1, &refused_tls),
        (
            "no TLS here",
            "http://engine.example.org".to_owned(),
            "",
            2,
            "has to begin with `https:`",
        ),
        (
            "a web site",
            format!("http://127.0.0.1:{site}"),
            "",
            1,
            "the engine's answer is not understood",
        ),
        (
            "no token",
            format!("http://127.0.0.1:{site}/private/"),
            "",
            1,
            "the engine answers 401: a token is missing",
        ),
        (
            "wrong token",
            format!("http://127.0.0.1:{site}/private/"),
            "wrong",
            1,
            "the engine answers 401: a token is missing",
        ),
        (
            "right token",
            format!("http://127.0.0.1:{site}/private/"),
            "right",
            1,
            "the engine's answer is not understood",
        ),
    ];
    for (name, address, token, exit, sentence) in rows {
        let list = ["threads", "list", "--engine", &address];
        let (code, told) = lab.rye_with_token(&here, &list, token);
        assert!(code == exit && told.contains(sentence), "{name}: {code} {told}");
    }
    let (code, told) = lab.rye_there(&here, &["threads", "list"]);
    assert!(code == 1 && told.contains("404: service 'RyeThreads' not found"), "no worker: {told}");
    assert!(!here.join(".ai/threads").exists());
}

/// A worker with the server's public key answers that server alone.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_worker_answers_its_own_server_alone() {
    let lab = Lab::new().await;
    let foreign = Lab::new().await;
    let own = lab.worker_with(&["first"], &["--identity-key", &lab.identity_key()]);
    let refused = foreign.try_register(&own.address).await.unwrap_err();
    assert!(refused.contains("InvalidSignature"), "{refused}");
    lab.register(&own.address).await;
    let thread = lab.start("waits-i").await;
    assert_eq!(lab.end(&thread).await["state"], "suspended");
}

/// An answer of a model that takes several steps of the engine is kept whole.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn an_answer_above_the_size_of_a_step_is_kept() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("asks-large").await;
    let end = lab.approved_end(&thread).await;
    let reader = check_completed(&lab, &thread, &end, "large").await;
    let path = reader.join(".ai/threads").join(&thread).join("transcript.jsonl");
    let length = std::fs::metadata(path).unwrap().len();
    assert!(8 << 20 < length, "{length} bytes fit into one step");
}

/// A worker that would be reachable, or lacks what it needs, does not start.
#[test]
fn a_worker_that_cannot_serve_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".ai")).unwrap();
    let empty = folder.path().to_str().unwrap();
    let own = project.to_str().unwrap();
    let keys = project.join(".ai/config/keys/signing");
    std::fs::create_dir_all(&keys).unwrap();
    let key = rye::sign::SigningKey::generate().unwrap().to_pkcs8_pem();
    std::fs::write(keys.join("private_key.pem"), key.as_str()).unwrap();
    let rows: [(&[&str], &str); 6] = [
        (
            &["--listen", "0.0.0.0:0", "--project", own, "--user-space", own],
            "is reachable by other machines without TLS",
        ),
        (
            &["--ingress", "http://engine.example.org/", "--project", own, "--user-space", own],
            "its address has to be HTTPS",
        ),
        (
            &["--ingress", "nowhere", "--project", own, "--user-space", own],
            "`nowhere` is no address",
        ),
        (&["--project", empty, "--user-space", own], "is no project: it has no `.ai` folder"),
        (&["--project", own, "--user-space", empty], "make one with `rye keys generate`"),
        (
            &["--label", "GPU", "--project", own, "--user-space", own],
            "`GPU` is no label of workers",
        ),
    ];
    for (options, sentence) in rows {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rye-worker"));
        let output = command.args(options).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains(sentence), "{options:?}: {told}");
    }
}
