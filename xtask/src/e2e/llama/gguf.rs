//! A writer of GGUF files, version 3, which hold the values and tensors of a model.

use std::{fs, io, path::Path};

/// A file that is being written.
#[derive(Default)]
pub(super) struct Gguf {
    facts: Vec<u8>,
    n_facts: u64,
    infos: Vec<u8>,
    data: Vec<u8>,
    n_tensors: u64,
}

/// The numbers of the format's value types.
const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
const TEXT: u32 = 8;
const LIST: u32 = 9;

/// The number of the tensor type for 32-bit floats.
const F32_TENSOR: u32 = 0;

/// The default alignment of tensors, in bytes.
const ALIGNMENT: usize = 32;

impl Gguf {
    pub(super) fn number(&mut self, name: &str, value: u32) {
        self.fact(name, U32).extend(value.to_le_bytes());
    }

    pub(super) fn fraction(&mut self, name: &str, value: f32) {
        self.fact(name, F32).extend(value.to_le_bytes());
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.fact(name, BOOL).push(value.into());
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        text(self.fact(name, TEXT), value);
    }

    pub(super) fn texts<'t>(&mut self, name: &str, values: impl ExactSizeIterator<Item = &'t str>) {
        let bytes = self.list(name, TEXT, values.len());
        values.for_each(|value| text(bytes, value));
    }

    pub(super) fn integers(&mut self, name: &str, values: impl ExactSizeIterator<Item = i32>) {
        let bytes = self.list(name, I32, values.len());
        values.for_each(|value| bytes.extend(value.to_le_bytes()));
    }

    pub(super) fn fractions(&mut self, name: &str, values: impl ExactSizeIterator<Item = f32>) {
        let bytes = self.list(name, F32, values.len());
        values.for_each(|value| bytes.extend(value.to_le_bytes()));
    }

    /// Adds a tensor whose rows have `columns` values. A single row is written as a vector.
    pub(super) fn tensor(&mut self, name: &str, columns: usize, values: &[f32]) {
        let rows = values.len() / columns;
        let shape = if rows == 1 { vec![columns] } else { vec![columns, rows] };
        text(&mut self.infos, name);
        self.infos.extend((shape.len() as u32).to_le_bytes());
        shape.iter().for_each(|length| self.infos.extend((*length as u64).to_le_bytes()));
        self.infos.extend(F32_TENSOR.to_le_bytes());
        self.infos.extend((self.data.len() as u64).to_le_bytes());
        values.iter().for_each(|value| self.data.extend(value.to_le_bytes()));
        pad(&mut self.data);
        self.n_tensors += 1;
    }

    pub(super) fn write(self, path: &Path) -> io::Result<()> {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(self.n_tensors.to_le_bytes());
        file.extend(self.n_facts.to_le_bytes());
        file.extend(self.facts);
        file.extend(self.infos);
        pad(&mut file);
        file.extend(self.data);
        fs::write(path, file)
    }

    fn fact(&mut self, name: &str, kind: u32) -> &mut Vec<u8> {
        self.n_facts += 1;
        text(&mut self.facts, name);
        self.facts.extend(kind.to_le_bytes());
        &mut self.facts
    }

    fn list(&mut self, name: &str, kind: u32, length: usize) -> &mut Vec<u8> {
        let bytes = self.fact(name, LIST);
        bytes.extend(kind.to_le_bytes());
        bytes.extend((length as u64).to_le_bytes());
        bytes
    }
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

#[cfg(test)]
mod tests {
    use super::Gguf;

    #[test]
    fn a_file_begins_with_its_counts_and_its_data_is_aligned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        let mut file = Gguf::default();
        file.number("a", 7);
        file.tensor("t", 2, &[1.0, 2.0, 3.0, 4.0]);
        file.write(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let counts = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0";
        let fact = b"\x01\0\0\0\0\0\0\0a\x04\0\0\0\x07\0\0\0";
        assert_eq!(bytes[..41], [counts.as_slice(), fact].concat());
        assert_eq!(bytes.len() % 32, 0);
        let data: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(bytes[bytes.len() - 32..][..16], data);
    }
}
