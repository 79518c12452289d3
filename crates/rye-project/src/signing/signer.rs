//! Signing files after a check, as parts of a project (SPEC 2.12).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rye_sign::SigningKey;
use rye_types::Timestamp;

use super::{SignFileError, SignOptions, SignedFile, sign_judged_file};
use crate::check::{Checker, SpacesToCheck};
use crate::project::Project;

/// Signs files with one key. Each is judged as it will be when all of them are signed, so that their order does not matter.
#[derive(Debug)]
pub struct Signer<'a> {
    project: &'a Project,
    checker: Checker<'a>,
    key: &'a SigningKey,
    at: Timestamp,
    options: HashMap<PathBuf, SignOptions>,
}

impl Project {
    /// A signer of `files`, each with its options, with `key` as of `at`. Their paths must be absolute.
    pub fn signer<'a>(
        &'a self,
        key: &'a SigningKey,
        at: Timestamp,
        files: impl IntoIterator<Item = (PathBuf, SignOptions)>,
    ) -> Signer<'a> {
        let options: HashMap<PathBuf, SignOptions> = files.into_iter().collect();
        let files = options.iter().map(|(path, options)| (path.clone(), options.keep_others));
        let checker = self.checker_before_signing(key.public(), files);
        Signer { project: self, checker, key, at, options }
    }

    /// Signs the file at `path`, which must be absolute. Checks the file, puts a new signature line in place of an old one, and
    /// replaces the file whole. Mode and line ends stay. Other names of the file, by hard links, keep the old text.
    ///
    /// Leaves a file alone if its signature is the one that this key would make of it, and is not dated later than `at`. A new
    /// signature would disturb what rests on the file, such as a thread that waits. To sign many files, make one [`Signer`].
    ///
    /// # Errors
    ///
    /// When it is a link or lies behind one that leaves the `.ai` folder, is no item, has what [`Finding::bars_signing`]
    /// tells of, or cannot be written.
    ///
    /// [`Finding::bars_signing`]: crate::Finding::bars_signing
    pub fn sign_file(
        &self,
        path: &Path,
        key: &SigningKey,
        at: Timestamp,
    ) -> Result<SignedFile, SignFileError> {
        self.signer(key, at, [(path.to_owned(), SignOptions::default())]).sign(path)
    }
}

impl SpacesToCheck {
    /// A signer of `files`, as [`Project::signer`] makes it.
    pub fn signer<'a>(
        &'a self,
        key: &'a SigningKey,
        at: Timestamp,
        files: impl IntoIterator<Item = (PathBuf, SignOptions)>,
    ) -> Signer<'a> {
        self.project().signer(key, at, files)
    }
}

impl Signer<'_> {
    /// Signs one of the files as [`Project::sign_file`] does, but for what its options say.
    ///
    /// # Errors
    ///
    /// The ones of [`Project::sign_file`], and [`SignFileError::OfOtherKey`] where the signature of another key is kept.
    pub fn sign(&self, path: &Path) -> Result<SignedFile, SignFileError> {
        self.sign_if(path, |_| true)
    }

    /// Signs one of the files as [`sign`](Self::sign) does, if it still holds `text`: what a person was shown is what is signed.
    ///
    /// # Errors
    ///
    /// The ones of [`sign`](Self::sign), and [`SignFileError::Changed`] if the file holds another text.
    pub fn sign_text(&self, path: &Path, text: &str) -> Result<SignedFile, SignFileError> {
        self.sign_if(path, |found| found == text)
    }

    fn sign_if(
        &self,
        path: &Path,
        is_meant: impl FnOnce(&str) -> bool,
    ) -> Result<SignedFile, SignFileError> {
        let options = self.options.get(path).copied().unwrap_or_default();
        sign_judged_file(path, self.key, self.at, options, |text| {
            if !is_meant(text) {
                return Err(SignFileError::Changed { path: path.to_owned() });
            }
            let own = self.key.public();
            if options.keep_others {
                self.project.refuse_other(path, text, &own)?;
            }
            self.checker.judge(path, text)?;
            Ok(self.project.other_signature(path, text, &own))
        })
    }
}
