//! Facts about MCP servers, kept in files of the operator's own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rye_files::read_plain;
use rye_sandbox::temporary_file;
use rye_sign::Digest;
use rye_tools::mcp::{Server, ServerFacts};

/// A folder with a file for each server that begins with `initialize`. The name of the file is the digest of the server's configuration.
/// A file that is lost or cannot be written is learned again.
#[derive(Debug)]
pub(crate) struct FactFolder {
    folder: PathBuf,
}

/// The content of a file.
const INITIALIZE: &[u8] = b"initialize\n";

impl FactFolder {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn path(&self, server: &Server) -> PathBuf {
        self.folder.join(Digest::of(format!("{server:?}").as_bytes()).to_string())
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // Written beside its place, so that no reader sees a part of it.
        let mut temporary = temporary_file(&self.folder, 0o600)?;
        io::Write::write_all(&mut temporary, INITIALIZE)?;
        temporary.persist(path).map(drop).map_err(|error| error.error)
    }
}

impl ServerFacts for FactFolder {
    fn begins_with_initialize(&self, server: &Server) -> bool {
        let most = u64::try_from(INITIALIZE.len()).unwrap_or_default();
        read_plain(&self.path(server), most).is_ok_and(|written| written == INITIALIZE)
    }

    fn learn(&self, server: &Server, begins_with_initialize: bool) {
        let path = self.path(server);
        let _learned_again = match begins_with_initialize {
            true => self.write(&path),
            false => fs::remove_file(&path),
        };
    }
}

#[cfg(test)]
mod tests {
    use rye_tools::mcp::ServerProgram;

    use super::*;

    #[test]
    fn a_fact_is_that_of_one_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("servers");
        let server = |argument: &str| {
            let mut program = ServerProgram::new("serve-notes");
            program.arguments = vec![argument.to_owned()];
            Server::new("notes", program)
        };
        let facts = FactFolder::new(&place);
        assert!(!facts.begins_with_initialize(&server("a")));
        facts.learn(&server("a"), true);
        facts.learn(&server("a"), true);
        // Another process reads the same.
        let facts = FactFolder::new(&place);
        assert!(facts.begins_with_initialize(&server("a")));
        assert!(!facts.begins_with_initialize(&server("b")));
        facts.learn(&server("a"), false);
        assert!(!facts.begins_with_initialize(&server("a")));
    }

    #[test]
    fn what_is_damaged_is_no_fact() {
        let folder = tempfile::tempdir().unwrap();
        let facts = FactFolder::new(folder.path());
        let server = Server::new("notes", ServerProgram::new("serve-notes"));
        for content in ["", "initialize", "initialize\n\n", "discover\n"] {
            fs::write(facts.path(&server), content).unwrap();
            assert!(!facts.begins_with_initialize(&server), "{content:?}");
        }
        // A folder that cannot be made is no failure.
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        FactFolder::new(&file.join("servers")).learn(&server, true);
    }
}
