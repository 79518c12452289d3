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
    pub(super) words: Vec<String>,
}

/// Wraps and calls each server, then lets it offer one more tool.
pub(super) fn run(
    root: &Path,
    rye: &Rye<'_>,
    place: &Place,
    servers: &[Reference],
) -> anyhow::Result<()> {
    for server in servers {
        let wrapped = Wrapped { root, rye, place, server };
        let served = wrapped.lock()?;
        wrapped.direct()?;
        let told = wrapped.run()?;
        if !told.contains("\"result\": 42") {
            bail!("`{}` added two numbers to:\n{told}", server.name);
        }
        drop(served);
        let _served = wrapped.configure(true)?;
        let told = wrapped.run()?;
        if !told.contains("does not offer what was locked") || !told.contains("`erase` is new") {
            bail!("`{}` offers more and is called:\n{told}", server.name);
        }
        println!("server {}: wrapped, called, and refused once it offers more", server.name);
    }
    Ok(())
}

/// A server in a place, with its tools.
pub(super) struct Wrapped<'a> {
    pub(super) root: &'a Path,
    pub(super) rye: &'a Rye<'a>,
    pub(super) place: &'a Place,
    pub(super) server: &'a Reference,
}

impl Wrapped<'_> {
    /// Configures the server, writes and signs its tools, and locks it.
    pub(super) fn lock(&self) -> anyhow::Result<Option<Served>> {
        let served = self.configure(false)?;
        self.rye(&["mcp", "discover", self.server.name, "--write"])?;
        self.sign(&format!("tools/mcp/{}", self.server.name))?;
        self.rye(&["lock", "--server", self.server.name])?;
        Ok(served)
    }

    /// Calls a tool, and returns what is printed even if the call fails.
    pub(super) fn call(&self, tool: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let id = format!("mcp/{}/{tool}", self.server.name);
        let home = text(&self.place.home);
        self.printed(&[&["call", &id, "--user-space", &home], arguments].concat())
    }

    fn printed(&self, words: &[&str]) -> anyhow::Result<String> {
        let ended = self.rye.call(&self.place.project, words)?;
        let told = [ended.stdout, ended.stderr].concat();
        Ok(String::from_utf8_lossy(&told).into_owned())
    }

    /// Configures the server. If it is used over HTTP, starts it on a local port.
    fn configure(&self, offers_more: bool) -> anyhow::Result<Option<Served>> {
        let name = self.server.name;
        if self.server.is_far {
            let (served, url) = self.serve(offers_more)?;
            let file = self.place.home.join(".ai/config/mcp/servers.yaml");
            write(&file, &format!("servers:\n  {name}:\n    url: {url}\n    private: true\n"))?;
            self.rye(&["sign", &text(&file)])?;
            return Ok(Some(served));
        }
        let more = if offers_more { "    env: { MORE: \"1\" }\n" } else { "" };
        let (program, arguments) = self.server.words.split_first().context("no program")?;
        let arguments = serde_json::to_string(arguments)?;
        let text =
            format!("servers:\n  {name}:\n    command: {program}\n    args: {arguments}\n{more}");
        write(&self.place.project.join(".ai/config/mcp/servers.yaml"), &text)?;
        self.sign("config/mcp/servers.yaml")?;
        Ok(None)
    }

    fn serve(&self, offers_more: bool) -> anyhow::Result<(Served, String)> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.context("no port")?;
        let line = self.server.words.join(" ");
        let (program, arguments) = self.server.words.split_first().context("no program")?;
        let mut command =
            process::start(self.root, Path::new(program), arguments.iter().map(String::as_str));
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
        self.printed(&words)
    }

    fn rye(&self, words: &[&str]) -> anyhow::Result<()> {
        let home = text(&self.place.home);
        let words = [words, &["--user-space", &home]].concat();
        self.rye.output_in(&self.place.project, &words).map(drop)
    }
}
