//! Sources of each format, imported.

mod formats;
