//! Help, completions, and command lines that make no sense.

use crate::session::Session;

#[test]
fn help() {
    insta::assert_snapshot!(Session::new().rye("--help"));
}

/// What a session shows, without the command.
fn shown(session: &Session, arguments: &str) -> String {
    session.rye(arguments).split_once('\n').unwrap().1.to_owned()
}

#[test]
fn help_of_a_command_is_its_own() {
    let session = Session::new();
    for command in ["check", "keys generate"] {
        let own = shown(&session, &format!("{command} --help"));
        assert_eq!(shown(&session, &format!("help {command}")), own);
    }
    assert_eq!(shown(&session, "help"), shown(&session, "--help"));
}

#[test]
fn help_of_the_format_is_the_manual() {
    let manual = rye::parse::FORMAT_REFERENCE;
    let page = shown(&Session::new(), "help format");
    assert_eq!(page, format!("{manual}--- standard error\n--- exit 0\n"));
}

#[test]
fn help_of_what_is_not_there() {
    let session = Session::new();
    assert_eq!(
        shown(&session, "help keys make"),
        "--- standard error\nerror: there is no help on `keys make`; there is on `generate`, `show`, `import`, `export`\n--- exit 2\n"
    );
    assert_eq!(
        shown(&session, "help schema trust"),
        "--- standard error\nerror: there is no help on `schema trust`; leave `trust` out\n--- exit 2\n"
    );
    assert!(shown(&session, "help formats").contains("`help`, `format`, `sandbox`\n"));
}

/// A page for each command, in the format that `man` reads, the same each time.
#[test]
fn manual_pages() {
    let session = Session::new();
    session.rye("man first");
    session.rye("man second");
    let pages = std::fs::read_dir(session.project().join("first")).unwrap();
    let mut names: Vec<String> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in &names {
        let read = |folder: &str| {
            std::fs::read_to_string(session.project().join(folder).join(name)).unwrap()
        };
        let page = read("first");
        assert_eq!(page, read("second"));
        assert!(page.contains(".TH rye") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
        assert!(!page.contains(&*session.project().to_string_lossy()), "{name}: {page}");
    }
    let printed = String::from_utf8(session.raw("man").stdout).unwrap();
    let own = std::fs::read_to_string(session.project().join("first/rye.1")).unwrap();
    assert_eq!(printed, own);
    insta::assert_snapshot!(names.join("\n"));
}

#[test]
fn an_id_that_breaks_the_grammar() {
    insta::assert_snapshot!(Session::new().rye("run ../escape"));
}

#[test]
fn an_input_without_a_value() {
    insta::assert_snapshot!(Session::new().rye("run notes/index --input folder"));
}

/// Inputs that stand as they are called are told as they have to be written.
#[test]
fn an_input_without_its_option() {
    let session = Session::new();
    let told = session.rye("run notes/index folder=notes --provider steps");
    assert!(told.contains("inputs are given as `--input folder=notes`\n"), "{told}");
    assert!(told.ends_with("--- exit 2\n") && !session.project().join(".ai/threads").exists());
}

#[test]
fn no_project_here() {
    let session = Session::new();
    std::fs::remove_dir_all(session.project().join(".ai")).unwrap();
    insta::assert_snapshot!(session.rye("run notes/index --provider steps"));
}

/// A mistake is told in the form in which the command would have told the rest, wherever `--json` stands.
#[test]
fn a_mistake_is_a_line_where_lines_were_asked_for() {
    let session = Session::new();
    for (line, is_line) in [
        ("run --json notes/index --bad", true),
        ("--json run notes/index --bad", true),
        ("--project . --json run notes/index --bad", true),
        ("--project=. --json resume THREAD-1 --bad", true),
        ("--json --project run threads list --bad", false),
        ("--json run notes/index --quiet --bad", false),
        ("--json threads list --bad", false),
    ] {
        let output = session.raw(line);
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            (out.lines().count() == 1, output.status.code()),
            (is_line, Some(2)),
            "{line}: {out}"
        );
    }
}

/// Colors are for terminals, unless the operator says otherwise.
#[test]
fn color_is_what_the_option_says() {
    let session = Session::new();
    session.change(".ai/directives/notes/index.md", "turns=", "turn=");
    let is_colored = |options: &str, variables: &[(&str, &str)]| {
        session.rye_with(&format!("check {options}"), variables).contains('\u{1b}')
    };
    assert!(!is_colored("", &[]));
    assert!(!is_colored("--color auto", &[]));
    assert!(!is_colored("--color never", &[]));
    assert!(is_colored("--color always", &[]));
    assert!(is_colored("--color always", &[("NO_COLOR", "1")]));
}

/// A value may come from a file or from standard input.
#[test]
fn an_input_is_read_from_where_it_says() {
    let session = Session::new();
    session.put("folder.txt", "notes");
    let run = |input: &str| {
        session.rye(&format!("render notes/index --trust TRUST --input folder={input}"))
    };
    assert!(run("@folder.txt").contains("notes"));
    assert_eq!(
        run("@folder.txt").split_once('\n').unwrap().1,
        run("notes").split_once('\n').unwrap().1
    );
    let raw = session.rye("render notes/index --trust TRUST --raw-input folder=@folder.txt");
    assert!(raw.contains("@folder.txt, each"), "{raw}");
    assert!(run("@nowhere.txt").contains("input `folder` has no value"));
    for (one, other) in [("-", "-"), ("-", "@-"), ("@-", "@-")] {
        let both = session.rye(&format!("render notes/index -i folder={one} -i index={other}"));
        assert!(both.contains("only one input can be read from standard input"), "{both}");
    }
    for stdin in ["-", "@-"] {
        let call = format!("call rye/file-system/write path=from_stdin.md content={stdin}");
        let written = session.rye_reading(&call, "several\nlines\n");
        assert!(written.ends_with("--- exit 0\n"), "{written}");
        let path = session.project().join("from_stdin.md");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "several\nlines\n");
        std::fs::remove_file(path).unwrap();
    }
    session.rye("call rye/file-system/write path=raw.md --raw-input content=-");
    assert_eq!(std::fs::read_to_string(session.project().join("raw.md")).unwrap(), "-");
}

/// SPEC 12.1b: a command that was mistyped is typed again, and leaves no thread. A refusal does.
#[test]
fn a_mistyped_command_leaves_no_thread() {
    let session = Session::new();
    for options in ["--input maxwords=3", "--input n=1 --input folder=notes"] {
        let told = session.rye(&format!("run notes/index {options} --trust TRUST"));
        assert!(told.ends_with("exit 2\n"), "{told}");
        assert!(!session.has_record(), "{told}");
    }
    let told = session.rye("run notes/index");
    assert!(told.ends_with("exit 3\n") && session.has_record(), "{told}");
}

/// A key that was revoked, and a second document of one key, are news once: `rye trust list` has them.
#[test]
fn documents_as_the_operator_left_them_are_no_warning() {
    let session = Session::new();
    session.rye("keys generate");
    let added = session.rye("trust add TRUST --yes --owner them");
    assert!(added.ends_with("exit 0\n"), "{added}");
    let run = "run notes/index --trust TRUST --provider steps";
    let told = session.rye(run);
    assert!(told.ends_with("exit 0\n") && !told.contains("warning: trust document"), "{told}");
    let listed = session.rye("trust list --trust TRUST");
    assert!(listed.contains("another trust document for this key was read before"), "{listed}");
}

/// Swapped letters of a command are told like those of a subcommand.
#[test]
fn a_misspelled_command_is_suggested() {
    let session = Session::new();
    for (line, near) in [
        ("rnu", Some("run")),
        ("rnu notes/index --json", Some("run")),
        ("--project . thraeds list", Some("threads")),
        ("threads tial", Some("tail")),
        ("threads ls", Some("list")),
        ("trust ad", Some("add")),
        ("--project threads rnu", Some("run")),
        ("--project=threads rnu", Some("run")),
        ("--project dad trust dad", Some("add")),
        ("trust --project threads dad", Some("add")),
        ("--allow-unsigned threads tial", Some("tail")),
        ("garden", None),
    ] {
        let told = session.rye(line);
        let tip = near.map(|near| format!("tip: a similar subcommand exists: '{near}'"));
        assert_eq!(told.contains("tip:"), near.is_some(), "{line}: {told}");
        assert!(tip.is_none_or(|tip| told.contains(&tip)), "{line}: {told}");
        assert!(told.ends_with("--- exit 2\n"), "{line}: {told}");
    }
}

/// The help of the program lists the pages of the manual that `rye help` has.
#[test]
fn each_page_of_the_manual_is_listed() {
    let session = Session::new();
    let listed = session.rye("--help");
    let (_, topics) = listed.split_once("\nManual:\n").unwrap();
    let of_help = session.rye("help --help");
    let (_, pages) = of_help.split_once("\nTopics:\n").unwrap();
    let pages: Vec<&str> = pages.lines().take_while(|line| !line.is_empty()).collect();
    assert!(pages.len() > 1, "{of_help}");
    for page in pages {
        assert!(
            topics.contains(&format!("  rye help {}\n", page.trim_start())),
            "{page}: {listed}"
        );
    }
}

#[test]
fn help_about_a_run_names_the_inputs_of_its_directive() {
    let session = Session::new();
    let general = shown(&session, "run --help");
    let (general, _) = general.split_once("--- standard error").unwrap();
    for line in ["run notes/index --help", "run --help notes/index", "render notes/index -h"] {
        let told = shown(&session, line);
        assert!(told.contains("\nInputs of `notes/index`:\n  folder (string, "), "{told}");
        assert!(told.ends_with("exit 0\n"), "{told}");
    }
    let told = shown(&session, "run notes/index --help");
    assert!(told.starts_with(general), "{told}");
    assert!(!shown(&session, "run notes/none --help").contains("Inputs of"));
}

/// All mistakes of a command line are told at once.
#[test]
fn one_mistake_does_not_hide_another() {
    let session = Session::new();
    let told =
        session.rye("run notes/index --input folder --input n=1 --raw-input n=2 -i x=@nowhere");
    for mistake in [
        "`folder` is no input; write it as NAME=VALUE",
        "input `n` is given twice",
        "input `x` has no value",
    ] {
        assert!(told.contains(mistake), "{told}");
    }
    assert!(told.ends_with("exit 2\n"), "{told}");
}
