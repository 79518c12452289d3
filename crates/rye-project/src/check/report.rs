//! Findings in the forms that programs and code review tools read.

use std::path::Path;

use rye_parse::position;
use serde_json::{Value, json};

use super::{Checked, Finding, Severity};

impl Checked {
    /// Returns path, kind, id and findings as JSON: a row of `rye check --json` and of the tool `rye_check`. Bytes of the path that
    /// are no UTF-8 are replaced.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "path": self.path.to_string_lossy(),
            "kind": self.kind.as_str(),
            "id": self.id.as_ref().map(ToString::to_string),
            "ok": self.is_ok(),
            "problems": self.findings.iter().map(|finding| problem(finding, &self.source)).collect::<Value>(),
        })
    }
}

fn problem(finding: &Finding, source: &str) -> Value {
    let position = position(source, finding.span.start);
    json!({
        "severity": finding.severity.as_str(),
        "code": finding.code,
        "message": finding.message,
        "label": finding.label,
        "help": finding.help,
        "line": position.line,
        "column": position.column,
        "span": [finding.span.start, finding.span.end],
    })
}

/// The findings as one SARIF 2.1.0 log, with the paths of files below `base` relative to it, so that the log means the
/// same on another machine.
#[must_use]
pub fn sarif(checked: &[Checked], base: &Path) -> Value {
    let findings = checked.iter().flat_map(|file| file.findings.iter().map(move |row| (file, row)));
    let results: Vec<Value> = findings.clone().map(|(file, row)| result(file, row, base)).collect();
    let mut codes: Vec<&str> = findings.map(|(_, finding)| finding.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let rules: Value = codes.into_iter().map(|code| json!({ "id": code })).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "rye check",
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules,
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The findings as workflow commands of GitHub Actions, one line each, with paths as in [`sarif`]; a run of a workflow
/// shows each beside the line that it is about.
#[must_use]
pub fn github(checked: &[Checked], base: &Path) -> String {
    let findings = checked.iter().flat_map(|file| file.findings.iter().map(move |row| (file, row)));
    findings.map(|(file, finding)| command(file, finding, base)).collect()
}

fn result(checked: &Checked, finding: &Finding, base: &Path) -> Value {
    let (start, end) = ends(checked, finding);
    json!({
        "ruleId": finding.code,
        "level": finding.severity.as_str(),
        "message": { "text": finding.sentence() },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&relative(&checked.path, base)) },
                "region": {
                    "startLine": start.line,
                    "startColumn": start.column,
                    "endLine": end.line,
                    "endColumn": end.column,
                },
            },
        }],
    })
}

fn command(checked: &Checked, finding: &Finding, base: &Path) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let (start, end) = ends(checked, finding);
    let file = property(&relative(&checked.path, base));
    let place = if start.line == end.line {
        format!(
            "line={},endLine={},col={},endColumn={}",
            start.line, end.line, start.column, end.column
        )
    } else {
        // Columns mean something within one line alone.
        format!("line={},endLine={}", start.line, end.line)
    };
    let title = property(finding.code);
    let message = data(&finding.sentence());
    format!("::{level} file={file},{place},title={title}::{message}\n")
}

fn ends(checked: &Checked, finding: &Finding) -> (rye_parse::Position, rye_parse::Position) {
    let place = |offset| position(&checked.source, offset);
    (place(finding.span.start), place(finding.span.end))
}

/// With slashes, whatever the machine separates folders by.
fn relative(path: &Path, base: &Path) -> String {
    let path = path.strip_prefix(base).unwrap_or(path);
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// A path as the reference of a URI (RFC 3986): all but unreserved characters and slashes as percent signs and digits.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    if path.starts_with('/') { format!("file://{uri}") } else { uri }
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_reference_of_a_uri() {
        let path = relative(Path::new("/a/b c/ü.md"), Path::new("/a"));
        assert_eq!(path, "b c/ü.md");
        assert_eq!(uri(&path), "b%20c/%C3%BC.md");
        assert_eq!(uri(&relative(Path::new("/x/y"), Path::new("/a"))), "file:///x/y");
    }

    #[test]
    fn a_text_cannot_end_its_command() {
        assert_eq!(data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(property("a:b,c\r"), "a%3Ab%2Cc%0D");
    }
}
