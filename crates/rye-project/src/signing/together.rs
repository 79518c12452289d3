//! Signing files, one or many at once (SPEC 2.12).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_sign::SigningKey;
use rye_types::Timestamp;

use super::{SignFileError, SignOptions, SignedFile, sign_judged_file, text, with_signature};
use crate::OpenError;
use crate::check::{Checker, SpacesToCheck};
use crate::parallel::in_parallel;
use crate::project::Project;
use crate::verify::is_plain_file;

/// The results for files that were signed at once.
#[derive(Debug)]
#[non_exhaustive]
pub struct SignedFiles {
    /// The result for each file, in the order in which they were given.
    pub results: Vec<Result<SignedFile, SignFileError>>,
    /// The spaces with the signed texts, also where nothing was to be written.
    pub spaces: SpacesToCheck,
}

impl SpacesToCheck {
    /// Signs files, each with its options, with `key` as of `at`. Their paths must be absolute, below the roots of the spaces as these
    /// were given.
    ///
    /// Each file is judged as it will be when all of them are signed, so that their order does not matter. One that is refused counts
    /// for the others as it is. A trust document counts once it is signed.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open). The errors of a file, which are those of [`Project::sign_file_with`], are its result.
    pub fn sign_files(
        &self,
        files: &[(PathBuf, SignOptions)],
        key: &SigningKey,
        at: Timestamp,
    ) -> Result<SignedFiles, OpenError> {
        let mut refused: HashMap<&Path, SignFileError> = HashMap::new();
        // A plain file stays as it is, and another file is about to have its signature.
        let to_be = in_parallel(files, |(path, _)| match is_plain_file(path) {
            true => self.project().signing_of(path).ok().map(|signing| signing.to_be(key, at)),
            false => Some((path.clone(), signed_text(path, key, at)?)),
        });
        let places: HashMap<&Path, PathBuf> = files
            .iter()
            .zip(&to_be)
            .filter_map(|((path, _), to_be)| Some((path.as_path(), to_be.as_ref()?.0.clone())))
            .collect();
        let mut texts: HashMap<PathBuf, String> = to_be.into_iter().flatten().collect();
        let spaces = loop {
            let spaces = self.with_texts(&Arc::new(texts.clone()))?;
            let checker = spaces.checker();
            let standing: Vec<_> =
                files.iter().filter(|(path, _)| !refused.contains_key(path.as_path())).collect();
            let judged = in_parallel(&standing, |(path, options)| {
                let options = SignOptions { dry_run: true, ..*options };
                if is_plain_file(path) {
                    return self.project().sign_plain_file(path, key, at, options);
                }
                self.project().sign_judged(path, (key, at), options, &checker, |_| true)
            });
            let count = refused.len();
            for ((path, _), judged) in standing.into_iter().zip(judged) {
                if let Err(error) = judged {
                    places.get(path.as_path()).map(|place| texts.remove(place));
                    refused.insert(path, error);
                }
            }
            drop(checker);
            if refused.len() == count {
                break spaces;
            }
        };
        let write = |(path, options): &(PathBuf, SignOptions)| match refused.remove(path.as_path())
        {
            Some(error) => Err(error),
            None if is_plain_file(path) => self.project().sign_plain_file(path, key, at, *options),
            None => sign_judged_file(path, key, at, *options, |found| {
                // Another program may have written the file after it was judged.
                let signed = with_signature(path, found, key, at)?;
                match texts.get(path) == Some(&signed) {
                    true => Ok(self.project().other_signature(path, found, &key.public())),
                    false => Err(SignFileError::Changed { path: path.clone() }),
                }
            }),
        };
        let results = files.iter().map(write).collect();
        Ok(SignedFiles { results, spaces })
    }
}

/// The text that the file at `path` has once it is signed; `None` where it cannot be.
fn signed_text(path: &Path, key: &SigningKey, at: Timestamp) -> Option<String> {
    with_signature(path, &text(path).ok()?, key, at).ok()
}

impl Project {
    /// Signs the file at `path`, which must be absolute. Checks the file, puts a new signature line in place of an old one, and
    /// replaces the file whole. Mode and line ends stay. Other names of the file, by hard links, keep the old text.
    ///
    /// The signature of a plain file, which is a file of the project outside of `.ai`, is written into `.ai/signed` instead, and the file
    /// is left as it is (SPEC 17.3).
    ///
    /// Leaves a file alone if its signature is the one that this key would make of it, and is not dated later than `at`. A new
    /// signature would disturb what rests on the file, such as a thread that waits. [`SpacesToCheck::sign_files`] signs many.
    ///
    /// # Errors
    ///
    /// When it is a link or lies behind one that leaves the `.ai` folder, is neither an item nor a plain file of the project, has what
    /// [`Finding::bars_signing`] tells of, or cannot be written.
    ///
    /// [`Finding::bars_signing`]: crate::Finding::bars_signing
    pub fn sign_file(
        &self,
        path: &Path,
        key: &SigningKey,
        at: Timestamp,
    ) -> Result<SignedFile, SignFileError> {
        self.sign_file_with(path, key, at, SignOptions::default())
    }

    /// Signs a file as [`sign_file`](Self::sign_file) does, but for what the options say.
    ///
    /// # Errors
    ///
    /// The ones of [`sign_file`](Self::sign_file), and [`SignFileError::OfOtherKey`] where the signature of another key is kept.
    pub fn sign_file_with(
        &self,
        path: &Path,
        key: &SigningKey,
        at: Timestamp,
        options: SignOptions,
    ) -> Result<SignedFile, SignFileError> {
        match is_plain_file(path) {
            true => self.sign_plain_file(path, key, at, options),
            false => self.sign_judged(path, (key, at), options, &self.checker(), |_| true),
        }
    }

    /// Signs a file as [`sign_file`](Self::sign_file) does, if it still holds `text`: what a person was shown is what is signed.
    ///
    /// # Errors
    ///
    /// The ones of [`sign_file`](Self::sign_file), and [`SignFileError::Changed`] if the file holds another text.
    pub fn sign_text(
        &self,
        path: &Path,
        text: &str,
        key: &SigningKey,
        at: Timestamp,
    ) -> Result<SignedFile, SignFileError> {
        let options = SignOptions::default();
        self.sign_judged(path, (key, at), options, &self.checker(), |found| found == text)
    }

    fn sign_judged(
        &self,
        path: &Path,
        (key, at): (&SigningKey, Timestamp),
        options: SignOptions,
        checker: &Checker<'_>,
        is_meant: impl FnOnce(&str) -> bool,
    ) -> Result<SignedFile, SignFileError> {
        sign_judged_file(path, key, at, options, |text| {
            if !is_meant(text) {
                return Err(SignFileError::Changed { path: path.to_owned() });
            }
            let own = key.public();
            if options.keep_others {
                self.refuse_other(path, text, &own)?;
            }
            checker.judge(path, text, Some(&own))?;
            Ok(self.other_signature(path, text, &own))
        })
    }
}
