//! A response in this protocol: see `rye_fuzz::decoding`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::decoding;
use rye_providers::Protocol;

fuzz_target!(|input: &[u8]| decoding::check(Protocol::AnthropicMessages, input));
