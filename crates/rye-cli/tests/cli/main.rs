//! The program as a person meets it: what it prints, where, and with which exit code.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod authoring;
#[cfg(unix)]
mod began_before;
mod births;
mod breakages;
mod calling;
mod capabilities;
mod checking;
mod children;
mod commands;
mod completing;
mod doctor;
mod drafting;
mod drafts;
mod embedding;
#[cfg(feature = "engine")]
mod engines;
mod exporting;
mod exports;
mod forged;
mod gates;
mod guide;
mod helps;
mod hooking;
mod hostile;
mod importing;
mod init;
mod keys;
mod killing;
mod limits;
mod linked_folders;
mod links;
mod listing;
mod loading;
#[cfg(unix)]
mod looking;
mod mcp;
mod mistakes;
mod money;
mod outcomes;
mod owning;
mod plain_files;
mod programs;
mod pruning;
mod raising;
mod readme;
mod receipts;
mod refused;
mod reindexing;
#[cfg(feature = "git")]
mod repository;
mod resuming;
mod reviewing;
mod running;
mod searching;
#[path = "../../../../tests/server.rs"]
#[expect(dead_code, reason = "each answer here is sent whole")]
mod server;
mod servers;
mod session;
mod sharing;
mod slips;
#[cfg(target_os = "linux")]
mod special_files;
mod stopped;
mod streaming;
mod surroundings;
#[path = "../../../../tests/sweep.rs"]
mod sweep;
mod taking_over;
mod tampering;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(unix)]
mod terminal;
mod trust;
mod trusting;
mod usage;
mod viewing;
mod visible;
mod vouching;
mod watching;
mod web;
#[cfg(target_os = "linux")]
mod writing;
