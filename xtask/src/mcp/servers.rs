//! Servers made with the official SDKs, whose tools Rye discovers, locks, calls, and refuses after a change.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use super::Place;
use crate::{
    files::{text, write},
    process::{self, Rye, Served},
};
use anyhow::{Context as _, bail};

/// A server: its name in the configuration and the words that start it.
#[derive(Clone)]
pub(super) struct Reference {
    pub(super) name: &'static str,
    /// `true` if Rye uses it over HTTP, for which this task starts it.
    pub(super) is_far: bool,
    pub(super) words: [String; 2],
}

/// Wraps and calls each server, then lets it offer one more tool.
pub(super) fn run(
    root: &Path,
    rye: &Rye<'_>,
    place: &Place,
    servers: &[Reference],
) -> anyhow::Result<()> {
    // A sandbox has its own folder for temporary files, so a checkout in the system's temporary folder is not
    // visible in it.
    if root.starts_with(std::env::temp_dir()) {
        let file = place.home.join(".ai/config/agent/processes.yaml");
        write(&file, "sandbox: off\n")?;
        rye.output(&["sign", &text(&file), "--user-space", &text(&place.home)])?;
    }
    for server in servers {
        let wrapped = Wrapped { rye, place, server };
        let served = wrapped.configure(root, false)?;
        wrapped.rye(&["mcp", "discover", server.name, "--write"])?;
        wrapped.sign(&format!("tools/mcp/{}", server.name))?;
        wrapped.rye(&["lock", "--server", server.name])?;
        wrapped.direct()?;
        let told = wrapped.run()?;
        if !told.contains("\"result\": 42") {
            bail!("`{}` added two numbers to:\n{told}", server.name);
        }
        drop(served);
        let _served = wrapped.configure(root, true)?;
        let told = wrapped.run()?;
        if !told.contains("does not offer what was locked") || !told.contains("`erase` is new") {
            bail!("`{}` offers more and is called:\n{told}", server.name);
        }
        println!("server {}: wrapped, called, and refused once it offers more", server.name);
    }
    Ok(())
}

struct Wrapped<'a> {
    rye: &'a Rye<'a>,
    place: &'a Place,
    server: &'a Reference,
}

impl Wrapped<'_> {
    /// Configures the server. If it is used over HTTP, starts it on a local port.
    fn configure(&self, root: &Path, offers_more: bool) -> anyhow::Result<Option<Served>> {
        let [program, script] = &self.server.words;
        let name = self.server.name;
        if self.server.is_far {
            let (served, url) = self.serve(root, offers_more)?;
            let file = self.place.home.join(".ai/config/mcp/servers.yaml");
            write(&file, &format!("servers:\n  {name}:\n    url: {url}\n    private: true\n"))?;
            self.rye(&["sign", &text(&file)])?;
            return Ok(Some(served));
        }
        let more = if offers_more { "    env: { MORE: \"1\" }\n" } else { "" };
        let text =
            format!("servers:\n  {name}:\n    command: {program}\n    args: [{script}]\n{more}");
        write(&self.place.project.join(".ai/config/mcp/servers.yaml"), &text)?;
        self.sign("config/mcp/servers.yaml")?;
        Ok(None)
    }

    fn serve(&self, root: &Path, offers_more: bool) -> anyhow::Result<(Served, String)> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.context("no port")?;
        let line = self.server.words.join(" ");
        let mut command = process::command(root, &line);
        command.env("PORT", address.port().to_string());
        if offers_more {
            command.env("MORE", "1");
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let served = Served::start(command)?;
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if begun.elapsed() > Duration::from_secs(30) {
                bail!("`{line}` does not listen at {address}");
            }
            std::thread::yield_now();
        }
        Ok((served, format!("http://{address}/mcp")))
    }

    /// Writes a directive that calls the server's tool.
    fn direct(&self) -> anyhow::Result<()> {
        let name = self.server.name;
        let text = format!(
            "# Adds\n\n```xml\n<directive name=\"adds_{name}\" version=\"1.0.0\">\n  <metadata><description>Adds.</description>\n    \
             <permissions><execute><tool>mcp.{name}.add</tool></execute><acknowledge risk=\"elevated\">It only \
             adds.</acknowledge></permissions></metadata>\n  <outputs><output name=\"result\" type=\"integer\" \
             required=\"true\">The sum</output></outputs>\n</directive>\n```\n\n<process>\n<step name=\"add\"><execute \
             item_type=\"tool\" item_id=\"mcp/{name}/add\"><param name=\"a\">2</param><param name=\"b\">40</param></execute>\
             </step>\n</process>\n"
        );
        let path = format!("directives/adds_{name}.md");
        write(&self.place.project.join(".ai").join(&path), &text)?;
        self.sign(&path)
    }

    fn sign(&self, path: &str) -> anyhow::Result<()> {
        self.rye(&["sign", &text(self.place.project.join(".ai").join(path))])
    }

    /// Runs the directive and returns its output, even if it fails.
    fn run(&self) -> anyhow::Result<String> {
        let name = format!("adds_{}", self.server.name);
        let home = text(&self.place.home);
        let words =
            ["run", &name, "--provider", "steps", "--json", "--quiet", "--user-space", &home];
        let ended = self.rye.call(&self.place.project, &words)?;
        let told = [ended.stdout, ended.stderr].concat();
        Ok(String::from_utf8_lossy(&told).into_owned())
    }

    fn rye(&self, words: &[&str]) -> anyhow::Result<()> {
        let home = text(&self.place.home);
        let words = [words, &["--user-space", &home]].concat();
        self.rye.output_in(&self.place.project, &words).map(drop)
    }
}
