//! What is tried of each command: where, with which words, and with which exit code.

use super::world::World::{self, *};

pub(super) type Row = (World, &'static str, u8);

pub(super) const TABLE: &[(&str, &[Row])] = &[
    (
        "approve",
        &[
            (Waiting, "approve THREAD", 0),
            (Ran, "approve THREAD", 1),
            (Approved, "approve THREAD", 1),
            (Ran, "approve index-019a0000-0000-7000-8000-000000000000", 1),
            (Waiting, "approve --last", 0),
            (Waiting, "approve --last --resume", 0),
            (Waiting, "approve --last --always", 0),
            (Ran, "approve index-0", 1),
            (Ran, "approve nothing", 1),
            (Ran, "approve ../index", 2),
            (Ran, "approve", 2),
            (Ran, "approve index --last", 2),
            (Nowhere, "approve index-019a0000-0000-7000-8000-000000000000", 2),
        ],
    ),
    (
        "call",
        &[
            (New, "call rye/file-system/read path=notes/bread.md", 0),
            (New, "call rye/file-system/raed path=notes/bread.md", 1),
            (New, "call rye/file-system/ls pth=notes", 2),
            (New, "call rye/file-system/write path=.ai/config/x.yaml content=y", 3),
            (Nowhere, "call rye/file-system/ls path=.", 2),
        ],
    ),
    (
        "cancel",
        &[
            (Waiting, "cancel THREAD", 0),
            (Ran, "cancel THREAD", 1),
            (Ran, "cancel index-019a0000-0000-7000-8000-000000000000", 1),
            (Tampered, "cancel THREAD", 3),
            (Ran, "cancel", 2),
        ],
    ),
    (
        "caps check",
        &[
            (Trusting, "caps check notes/index rye.execute.tool.rye.file-system.write", 0),
            (Trusting, "caps check notes/index rye.execute.tool.rye.bash.bash", 3),
            (Trusting, "caps check notes/index write", 2),
            (Trusting, "caps check notes/indx rye.execute.tool.rye.file-system.write", 1),
            (New, "caps check notes/index rye.execute.tool.rye.file-system.write", 3),
        ],
    ),
    (
        "caps explain",
        &[
            (Trusting, "caps explain notes/index", 0),
            (Trusting, "caps explain notes/indx", 1),
            (New, "caps explain notes/index", 3),
            (Trusting, "caps explain ../index", 2),
        ],
    ),
    (
        "caps tighten",
        &[
            (Ran, "caps tighten notes/index", 0),
            (Ran, "caps tighten notes/indx", 1),
            (New, "caps tighten notes/index", 3),
            (Trusting, "caps tighten", 2),
        ],
    ),
    (
        "check",
        &[
            (New, "check", 0),
            (Broken, "check", 1),
            (New, "check .ai/nowhere.md", 2),
            (Empty, "check", 2),
            (Locked, "check --locked", 1),
            (Locked, "check --locked --servers", 1),
            (Trusting, "check --locked", 1),
            (New, "check --format html", 2),
            (Nowhere, "check", 2),
        ],
    ),
    (
        "completions",
        &[
            (Nowhere, "completions bash", 0),
            (New, "completions", 2),
            (New, "completions csh", 2),
            (New, "completions bash zsh", 2),
        ],
    ),
    (
        "deny",
        &[
            (Waiting, "deny THREAD", 0),
            (Waiting, "deny THREAD --resume", 3),
            (Ran, "deny THREAD", 1),
            (Ran, "deny index-019a0000-0000-7000-8000-000000000000", 1),
            (Tampered, "deny THREAD", 3),
            (Ran, "deny THREAD THREAD", 2),
        ],
    ),
    (
        "diff",
        &[
            (Trusting, "diff notes/base notes/index", 0),
            (Trusting, "diff notes/base notes/index --exit-code", 2),
            (Trusting, "diff notes/index", 2),
            (Trusting, "diff notes/index notes/indx", 1),
            (New, "diff notes/base notes/index", 3),
        ],
    ),
    (
        "doctor",
        &[
            (Keyed, "doctor", 0),
            (Nowhere, "doctor --user-space nowhere --system", 2),
            (Damaged, "doctor", 1),
            (New, "doctor --trust nowhere.toml", 1),
            (New, "doctor everything", 2),
        ],
    ),
    (
        "explain",
        &[
            (Trusting, "explain notes/index", 0),
            (Trusting, "explain notes/indx", 1),
            (Broken, "explain notes/index", 1),
            (New, "explain notes/index", 3),
            (Trusting, "explain", 2),
        ],
    ),
    (
        "help",
        &[
            (Nowhere, "help threads", 0),
            (Nowhere, "help nothing", 2),
            (Nowhere, "help keys make", 2),
            (Nowhere, "help format directives", 2),
        ],
    ),
    (
        "init",
        &[
            (Keyed, "init ../fresh", 0),
            (New, "init ../fresh", 2),
            (Keyed, "init .", 1),
            (New, "init ../home --new-key", 2),
            (New, "init garbage --owner", 2),
        ],
    ),
    (
        "keys export",
        &[
            (Keyed, "keys export", 0),
            (New, "keys export", 1),
            (Keyed, "keys export --output .ai/knowledge/notes/new.md", 1),
            (Keyed, "keys export --output", 2),
        ],
    ),
    (
        "keys generate",
        &[
            (New, "keys generate --owner ada@example.org", 0),
            (Keyed, "keys generate", 1),
            (New, "keys generate --owner", 2),
            (New, "keys generate --user-space TRUST", 1),
        ],
    ),
    (
        "keys import",
        &[
            (New, "keys import KEY --owner ada@example.org", 0),
            (Keyed, "keys import KEY", 0),
            (New, "keys import nowhere.pem", 1),
            (New, "keys import --from-env NOTHING", 2),
            (New, "keys import", 2),
        ],
    ),
    (
        "keys show",
        &[
            (Keyed, "keys show", 0),
            (New, "keys show", 1),
            (New, "keys show me", 2),
            (New, "keys show --user-space ../nowhere", 1),
        ],
    ),
    (
        "list",
        &[
            (Trusting, "list --kind directive", 0),
            (Trusting, "list --kind note", 2),
            (New, "list --trust nowhere.toml", 1),
            (Trusting, "list notes", 2),
            (New, "list --project elsewhere", 2),
        ],
    ),
    (
        "load",
        &[
            (Trusting, "load notes/index-style", 0),
            (Trusting, "load notes/indx", 1),
            (New, "load notes/index-style", 3),
            (Broken, "load notes/unsigned", 3),
            (Broken, "load notes/twice", 2),
            (Trusting, "load notes/index --kind note", 2),
        ],
    ),
    (
        "lock",
        &[
            (Trusting, "lock", 0),
            (New, "lock", 3),
            (Trusting, "lock notes/indx", 1),
            (Nowhere, "lock", 2),
        ],
    ),
    (
        "man",
        &[
            (Nowhere, "man pages", 0),
            (New, "man .ai/directives/notes/index.md", 1),
            (New, "man .ai/directives/notes/index.md/pages", 1),
            (New, "man one two", 2),
        ],
    ),
    (
        "mcp",
        &[
            (Trusting, "mcp", 0),
            (Trusting, "mcp --http nowhere", 2),
            (Trusting, "mcp --http 192.0.2.1:80", 1),
            (Trusting, "mcp --allow rye.*", 3),
            (Trusting, "mcp --provider nobody", 2),
            (Trusting, "mcp --allow-origin http://localhost", 2),
        ],
    ),
    // What it shows of a server is in `servers.rs`, beside the servers.
    (
        "mcp discover",
        &[
            (Trusting, "mcp discover --help", 0),
            (Trusting, "mcp discover notes", 1),
            (Trusting, "mcp discover", 2),
            (Trusting, "mcp discover notes --into team", 2),
        ],
    ),
    (
        "new config",
        &[
            (New, "new config resilience", 0),
            (New, "new config resiliences", 2),
            (Nowhere, "new config trust", 2),
            (New, "new config", 2),
        ],
    ),
    (
        "new directive",
        &[
            (New, "new directive notes/tidy", 0),
            (New, "new directive notes/index", 1),
            (New, "new directive ../tidy", 2),
            (Nowhere, "new directive notes/tidy", 2),
        ],
    ),
    (
        "new hook",
        &[
            (New, "new hook rules", 0),
            (New, "new hook team/rules", 2),
            (New, "new hook ../rules", 2),
            (Nowhere, "new hook rules", 2),
        ],
    ),
    (
        "new knowledge",
        &[
            (New, "new knowledge notes/habits", 0),
            (New, "new knowledge notes/index-style", 1),
            (New, "new knowledge notes/", 2),
            (Nowhere, "new knowledge notes/habits", 2),
        ],
    ),
    (
        "new provider",
        &[
            (New, "new provider local", 0),
            (New, "new provider team/local", 2),
            (New, "new provider", 2),
            (Nowhere, "new provider local", 2),
        ],
    ),
    (
        "new tool",
        &[
            (New, "new tool notes/count", 0),
            (Broken, "new tool notes/twice", 1),
            (New, "new tool Notes Count", 2),
            (Nowhere, "new tool notes/count", 2),
        ],
    ),
    (
        "render",
        &[
            (Trusting, "render notes/index", 0),
            (Trusting, "render notes/indx", 1),
            (New, "render notes/index", 3),
            (Trusting, "render notes/index --input foldr=x", 2),
            (Trusting, "render notes/index --provider nobody", 1),
        ],
    ),
    (
        "replay",
        &[
            (Ran, "replay THREAD", 0),
            (Changed, "replay THREAD", 1),
            (Tampered, "replay THREAD", 3),
            (Ran, "replay index-019a0000-0000-7000-8000-000000000000", 1),
            (Ran, "replay index-", 0),
            (Ran, "replay --last", 0),
            (Ran, "replay ../index", 2),
        ],
    ),
    (
        "resume",
        &[
            (Approved, "resume THREAD", 0),
            (Waiting, "resume THREAD", 4),
            (Ran, "resume THREAD", 1),
            (Tampered, "resume THREAD", 3),
            (Ran, "resume index-019a0000-0000-7000-8000-000000000000", 1),
            (Approved, "resume --last", 0),
            (New, "resume --last", 1),
            (Approved, "resume THREAD --deltas", 2),
        ],
    ),
    (
        "run",
        &[
            (Trusting, "run notes/index --provider steps", 0),
            (Trusting, "run .ai/directives/notes/index.md --provider steps", 0),
            (Keyed, "run notes/index --provider steps --sign", 0),
            (New, "run notes/index --provider steps --sign", 2),
            (Trusting, "run notes/index --provider steps --input folder=@folder.txt", 1),
            (Trusting, "run notes/index folder=notes --provider steps", 2),
            (Trusting, "run notes/index --input folder=@- --input title=@-", 2),
            (Trusting, "run notes/bread.md --provider steps", 2),
            (Trusting, "run notes/indx --provider steps", 1),
            (Trusting, "run notes/index --provider nobody", 1),
            (Trusting, "run notes/index --provider step", 1),
            (Trusting, "run notes/index --provider steps --input folder", 2),
            (Trusting, "run notes/index --provider steps --spend much", 2),
            (New, "run notes/index --provider steps", 3),
            (Trusting, "run notes/index --provider steps --turns 1", 5),
            (Nowhere, "run notes/index --provider steps", 2),
        ],
    ),
    (
        "schema",
        &[
            (Nowhere, "schema trust", 0),
            (Nowhere, "schema trusts", 2),
            (Nowhere, "schema trust hooks", 2),
            (Nowhere, "schema --format yaml", 2),
        ],
    ),
    (
        "search",
        &[
            (Trusting, "search index style", 0),
            (Trusting, "search \"index", 2),
            (Trusting, "search index --kind note", 2),
            (Trusting, "search index --limit none", 2),
            (New, "search index --trust nowhere.toml", 1),
        ],
    ),
    (
        "sign",
        &[
            (Keyed, "sign .ai/knowledge/notes/new.md", 0),
            (Keyed, "sign .ai/knowledge/notes/new.md --dry-run", 0),
            (New, "sign .ai/directives/notes/index.md", 2),
            (Broken, "sign .ai/directives/notes/twice.md", 1),
            (Keyed, "sign .ai/nowhere.md", 2),
            (Empty, "sign .ai", 2),
            (Broken, "sign ./garbage.txt", 1),
            (Broken, "sign garbage.txt", 1),
            (Keyed, "sign", 2),
        ],
    ),
    (
        "threads export",
        &[
            (Ran, "threads export --format html --output page.html", 0),
            (Ran, "threads export --format jsonl --output records.jsonl", 0),
            (Ran, "threads export", 2),
            (Ran, "threads export --format pdf", 2),
            (Ran, "threads export newest --format html --output page.html", 1),
            (Ran, "threads export a/b --format html", 2),
            (New, "threads export --format html", 1),
            (Tampered, "threads export --format html --output page.html", 3),
            (Nowhere, "threads export --format html", 2),
        ],
    ),
    (
        "threads list",
        &[
            (Ran, "threads list", 0),
            (Ran, "threads list --state stopped --state error", 0),
            (Ran, "threads list --directive notes/index --state completed", 0),
            (Ran, "threads list --directive notes/indx", 0),
            (Ran, "threads list --directive notes/indx --json", 0),
            (Ran, "threads list --directive t/nope --directive notes/index --state error", 0),
            (Ran, "threads list --state done", 2),
            (New, "threads list", 0),
            (Broken, "threads list", 0),
            (Nowhere, "threads list", 2),
            (New, "threads list --engine farm", 2),
        ],
    ),
    (
        "threads prune",
        &[
            (Ran, "threads prune", 0),
            (Ran, "threads prune --yes", 0),
            (Waiting, "threads prune --yes", 0),
            (Limited, "threads prune", 0),
            (Limited, "threads prune --yes", 0),
            (Limited, "threads prune --resumable --yes", 0),
            (Limited, "threads prune --yes --json", 0),
            (New, "threads prune", 0),
            (Ran, "threads prune --older-than soon", 2),
            (Ran, "threads prune --state running", 2),
            (Nowhere, "threads prune", 2),
        ],
    ),
    (
        "threads pull",
        &[
            (Ran, "threads pull --help", 0),
            (Ran, "threads pull --last", 2),
            (Ran, "threads pull --last --engine http://127.0.0.1:1", 2),
            (Ran, "threads pull --last --engine http://engine.example", 2),
        ],
    ),
    (
        "threads reindex",
        &[
            (Ran, "threads reindex", 0),
            (New, "threads reindex", 0),
            (Broken, "threads reindex", 0),
            (Nowhere, "threads reindex", 2),
            (Ran, "threads reindex all", 2),
            (New, "threads reindex --yes", 2),
        ],
    ),
    (
        "threads show",
        &[
            (Ran, "threads show", 0),
            (New, "threads show", 1),
            (Tampered, "threads show", 3),
            (Ran, "threads show index-019a0000-0000-7000-8000-000000000000", 1),
            (Ran, "threads show index", 0),
            (Ran, "threads show newest", 1),
            (Ran, "threads show a/b", 2),
            (Ran, "threads show a-019a0000-0000-7000-8000-000000000000 --engine http://[::1]:1", 1),
        ],
    ),
    (
        "threads tail",
        &[
            (Ran, "threads tail", 0),
            (New, "threads tail", 1),
            (Tampered, "threads tail", 3),
            (Ran, "threads tail index-019a0000-0000-7000-8000-000000000000", 1),
        ],
    ),
    (
        "threads tree",
        &[
            (Ran, "threads tree", 0),
            (Ran, "threads tree --last", 0),
            (Broken, "threads tree", 0),
            (Nowhere, "threads tree", 2),
            (New, "threads tree newest", 1),
            (Ran, "threads tree index-019a0000-0000-7000-8000-000000000000", 1),
        ],
    ),
    (
        "threads verify",
        &[
            (Ran, "threads verify", 0),
            (Tampered, "threads verify", 3),
            (Ran, "threads verify index-019a0000-0000-7000-8000-000000000000", 1),
            (New, "threads verify", 1),
        ],
    ),
    (
        "verify",
        &[
            (Trusting, "verify .ai/directives", 0),
            (New, "verify .ai/directives", 3),
            (Broken, "verify .ai/knowledge/notes/unsigned.md", 3),
            (New, "verify .ai/nowhere.md", 2),
            (Empty, "verify", 2),
            (Empty, "verify .ai/directives --json", 2),
            (Nowhere, "verify", 2),
        ],
    ),
    (
        "verify receipt",
        &[
            (Receipted, "verify receipt receipt.json", 0),
            (Receipted, "verify receipt receipt.json --transcript nowhere.jsonl", 1),
            (Receipted, "verify receipt notes/bread.md", 3),
            (Ran, "verify receipt receipt.json", 1),
            (Ran, "verify receipt", 2),
        ],
    ),
    (
        "view",
        &[
            (Ran, "view --help", 0),
            (Ran, "view --port many", 2),
            (Ran, "view newest", 1),
            (Nowhere, "view", 2),
        ],
    ),
    (
        "which",
        &[
            (New, "which notes/index", 0),
            (New, "which notes/indx", 1),
            (New, "which style", 1),
            (New, "which notes/indx --kind directive", 1),
            (New, "which ../index", 2),
            (New, "which notes/index --kind note", 2),
        ],
    ),
];
