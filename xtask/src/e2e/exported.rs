//! `cargo xtask e2e exported`: validates what `rye export` writes with the packages of others.
//!
//! The directives of the quick start and those in `xtask/src/e2e/exported`, whose names and texts are hard to write down, are
//! exported in each form. `agentskills validate` of the package `skills-ref` and `skillsaw` must find nothing in them. The
//! packages are installed once.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    files::{self, text},
    packages,
    process::{self, Rye},
};
use anyhow::{Context as _, ensure};

const FOLDER: &str = "target/xtask/exported";
const DIRECTIVES: &str = "xtask/src/e2e/exported";
const PACKAGES: &str = "skills-ref==0.1.1 skillsaw==0.22.0";

/// The folder of the fixture's directives in the project.
const HARD: &str = ".ai/directives/hard";

/// Exports the directives and validates the files.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let python = packages::python(root, "exported-python", PACKAGES)?;
    let validators = Validators { root, folder: python.with_file_name("") };
    let rye = Rye::build(root)?;
    let place = Place::make(root, &rye)?;
    for form in ["skill", "plugin", "subagent", "agents-md"] {
        let to = match form {
            "subagent" => "subagent/.claude/agents",
            other => other,
        };
        place.export(form, to, &[])?;
        validators.check(&place.folder.join(form), "info")?;
    }
    // The text of a directive is its author's, whose sections may be long.
    place.export("skill", "text", &["--text"])?;
    validators.check(&place.folder.join("text"), "warning")
}

struct Place<'a> {
    rye: &'a Rye<'a>,
    folder: PathBuf,
    options: Vec<String>,
    ids: Vec<String>,
}

impl<'a> Place<'a> {
    /// Makes a project with all of the directives, signed.
    fn make(root: &Path, rye: &'a Rye<'a>) -> anyhow::Result<Self> {
        let folder = root.join(FOLDER);
        files::remove_folder(&folder)?;
        let project = folder.join("project");
        let made = || {
            files::copy_folder(&root.join("examples/quickstart"), &project)?;
            files::copy_folder(&root.join(DIRECTIVES), &project.join(HARD))?;
            fs::create_dir_all(folder.join("home"))
        };
        made().context("the project cannot be made")?;
        let home = text(folder.join("home"));
        rye.output(&["keys", "generate", "--owner", "xtask", "--user-space", &home])?;
        rye.output(&["sign", &text(project.join(HARD)), "--user-space", &home])?;
        let trust = text(root.join("examples/keys/example-trust.toml"));
        let options = ["--project", &text(&project), "--user-space", &home, "--trust", &trust];
        let options = options.map(str::to_owned).to_vec();
        let mut ids = vec!["notes/index".to_owned(), "rye/agent/core/base".to_owned()];
        hard_ids(&project.join(HARD), "hard", &mut ids)
            .context("the directives cannot be listed")?;
        Ok(Self { rye, folder, options, ids })
    }

    fn export(&self, form: &str, to: &str, more: &[&str]) -> anyhow::Result<()> {
        let to = text(self.folder.join(to));
        let words = ["export", form, "--to", &to].into_iter().chain(more.iter().copied());
        let words = words.map(str::to_owned).chain(self.ids.iter().cloned());
        let words: Vec<String> = words.chain(self.options.iter().cloned()).collect();
        self.rye.output(&words).map(drop)
    }
}

/// Adds the ids of the directives in a folder.
fn hard_ids(folder: &Path, prefix: &str, ids: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            hard_ids(&path, &format!("{prefix}/{name}"), ids)?;
        } else {
            ids.push(format!("{prefix}/{name}"));
        }
    }
    ids.sort();
    Ok(())
}

struct Validators<'a> {
    root: &'a Path,
    /// The folder of their programs.
    folder: PathBuf,
}

impl Validators<'_> {
    /// Validates each skill below a folder, and all files in it, where findings of a `severity` fail.
    fn check(&self, folder: &Path, severity: &str) -> anyhow::Result<()> {
        let mut skills = Vec::new();
        find_skills(folder, &mut skills).context("the exported files cannot be listed")?;
        let is_about_skills = folder.ends_with("subagent") || folder.ends_with("agents-md");
        ensure!(
            is_about_skills == skills.is_empty(),
            "{} skills in `{}`",
            skills.len(),
            folder.display()
        );
        for skill in &skills {
            self.run(&format!("agentskills validate {}", text(skill)))?;
        }
        let roots = match folder.ends_with("plugin") {
            true => plugins(folder)?,
            false => vec![folder.to_owned()],
        };
        for root in roots {
            self.run(&format!(
                "skillsaw lint --quiet --no-plugins --no-custom-rules --fail-on {severity} {}",
                text(root)
            ))?;
        }
        println!("{}: {} skills, nothing found", folder.display(), skills.len());
        Ok(())
    }

    fn run(&self, line: &str) -> anyhow::Result<()> {
        process::output(self.root, &format!("{}{line}", text(&self.folder))).map(drop)
    }
}

fn plugins(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).context("no plugins")?;
    let plugins: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    ensure!(plugins.len() == 1, "{} plugins, not 1", plugins.len());
    Ok(plugins)
}

/// Finds the folders with a `SKILL.md`.
fn find_skills(folder: &Path, skills: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if folder.join("SKILL.md").is_file() {
        skills.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_skills(&path, skills)?;
        }
    }
    Ok(())
}
