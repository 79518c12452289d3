//! Encoding of paths as JSON text. A path is a sequence of bytes. Each byte becomes the character with its
//! number, so that the encoding is lossless.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

fn text(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().copied().map(char::from).collect()
}

fn path(text: &str) -> Option<PathBuf> {
    let bytes: Option<Vec<u8>> = text.chars().map(|letter| u8::try_from(letter).ok()).collect();
    Some(PathBuf::from(OsString::from_vec(bytes?)))
}

fn read<E: serde::de::Error>(text: &str) -> Result<PathBuf, E> {
    path(text).ok_or_else(|| E::custom("a path has a character beyond one byte"))
}

pub(super) mod one {
    use super::{Path, PathBuf};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        path: &Path,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::text(path))
    }

    pub(in super::super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<PathBuf, D::Error> {
        super::read(&String::deserialize(from)?)
    }
}

pub(super) mod many {
    use super::PathBuf;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| super::text(path)))
    }

    pub(in super::super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        Vec::<String>::deserialize(from)?.iter().map(|text| super::read(text)).collect()
    }
}

pub(super) mod optional {
    use super::PathBuf;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde hands the field over like this")]
    pub(in super::super) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(super::text).serialize(to)
    }

    pub(in super::super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Option::<String>::deserialize(from)?.map(|text| super::read(&text)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_path_comes_back() {
        let bytes: Vec<u8> = (1..=255).collect();
        let all = PathBuf::from(OsString::from_vec(bytes));
        assert_eq!(path(&text(&all)), Some(all));
        assert_eq!(path("/a/ü"), Some(PathBuf::from(OsString::from_vec(b"/a/\xfc".to_vec()))));
        assert_eq!(path("/a/\u{100}"), None);
    }
}
