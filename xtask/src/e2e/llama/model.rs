//! Tiny models: one with weights that follow a script, and two with random weights.
//!
//! In the scripted model, the last matrix maps each token to the one token that follows it. The answer starts
//! after the last token of the prompt, which the chat template chooses. The server does the same as for any
//! model, including template, sampling, grammar and parsing of calls, but the answer is known beforehand.

use std::{io, path::Path};

use super::gguf::Gguf;

/// The possible last tokens of a prompt, each with the pieces of the answer that the scripted model gives
/// after it.
///
/// No two pieces are the same, because a piece determines the next one.
const SCRIPTS: &[(&str, &[&str])] = &[
    (
        "<|look|>",
        &[
            "<think>\nBoth fi",
            "les are needed.",
            "\n</think>\n\n",
            "<tool_call>\n{\"name\": \"rye_file",
            "_system_read\", \"arguments\": {\"pa",
            "th\": \"notes/one.md\"}}\n</tool_call>",
            "\n<tool_call>\n{\"name\": \"rye_file_s",
            "ystem_read\", \"arguments\": {\"path\"",
            ": \"notes/two.md\"}}",
            "\n</tool_call>",
        ],
    ),
    (
        "<|put|>",
        &[
            "I write it do",
            "wn.\n<tool_call>\n{\"name\": \"rye_file_system_write",
            "\", \"arguments\": {\"path\": \"out.md\"",
            ", \"content\": \"Two notes.\"}}\n</to",
            "ol_call>",
        ],
    ),
    (
        "<|give|>",
        &[
            "<tool_call>\n{\"name\": \"rye_agent_threads",
            "_directive_return\", \"arguments\": {\"count\": 2, \"summ",
            "ary\": \"Bread and Lisbon.\"}}\n</tool",
            "_call>\n",
        ],
    ),
    ("<|say|>", &["Both notes ", "are read: ", "bread, and Lisbon."]),
];

/// The tokens around messages.
const FRAMES: &[&str] = &["<|system|>", "<|user|>", "<|model|>", "<|tool|>", END];

const END: &str = "<|end|>";

const TEMPLATE: &str = include_str!("template.jinja");

/// The width of the models, which is also the largest size of the vocabulary.
const WIDTH: usize = 512;

/// The width of the attention head. It is small because prompts are long for models that read single bytes.
const HEAD: usize = 16;

const HIDDEN: usize = 32;

/// The context window of the models, in tokens.
pub(super) const CONTEXT: u32 = 65_536;

/// A token: its text and the number of its kind in the format.
struct Token {
    text: String,
    kind: i32,
}

const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const BYTE: i32 = 6;

/// Returns the vocabulary: the unknown token, the control tokens, the pieces of the scripts, and every byte.
fn vocabulary() -> Vec<Token> {
    let token = |text: &str, kind| Token { text: text.to_owned(), kind };
    let starts = SCRIPTS.iter().map(|(start, _)| *start);
    let pieces = SCRIPTS.iter().flat_map(|(_, pieces)| pieces.iter());
    let mut all = vec![token("<unk>", UNKNOWN), token("\u{2581}", NORMAL)];
    all.extend(FRAMES.iter().copied().chain(starts).map(|text| token(text, CONTROL)));
    all.extend(pieces.map(|text| token(text, USER_DEFINED)));
    all.extend((0..=255).map(|byte| token(&format!("<0x{byte:02X}>"), BYTE)));
    assert!(all.len() <= WIDTH, "because the scripts are short");
    all
}

fn place(vocabulary: &[Token], text: &str) -> usize {
    let mut found = vocabulary.iter().enumerate().filter(|(_, token)| token.text == text);
    match (found.next(), found.next()) {
        (Some((place, _)), None) => place,
        _ => panic!("because each piece `{text}` is one token"),
    }
}

/// Writes the scripted model.
pub(super) fn write_scripted(path: &Path) -> io::Result<()> {
    let vocabulary = vocabulary();
    let mut next = vec![0.0; WIDTH * vocabulary.len()];
    let mut follow = |before: &str, after: &str| {
        let before = place(&vocabulary, before);
        let after = place(&vocabulary, after);
        next[after * WIDTH + before] = 4.0;
    };
    for (start, pieces) in SCRIPTS {
        let mut before = start;
        for piece in pieces.iter().chain(&[END]) {
            follow(before, piece);
            before = piece;
        }
    }
    let mut identity = vec![0.0; WIDTH * vocabulary.len()];
    (0..vocabulary.len()).for_each(|token| identity[token * WIDTH + token] = 1.0);
    model("scripted", &vocabulary, &identity, &next, || 0.0).write(path)
}

/// The tokens that a random model may write.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Speech {
    /// Any token, including invalid bytes, control tokens, pieces of calls, and the end.
    Anything,
    /// Letters, spaces and line ends, so that an answer is as long as its limit.
    Letters,
}

/// Writes a random model, which is the same each time.
pub(super) fn write_noise(path: &Path, speech: Speech) -> io::Result<()> {
    let vocabulary = vocabulary();
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let mut rows = |first: &dyn Fn(&Token) -> f32, size: f32| -> Vec<f32> {
        let mut row = |token: &Token| {
            let mut row: Vec<f32> = (0..WIDTH).map(|_| noise.next() * size).collect();
            row.splice(..1, [first(token)]);
            row
        };
        vocabulary.iter().flat_map(&mut row).collect()
    };
    // The first column of the embedding is constant, so that the first column of the last matrix can suppress
    // tokens.
    let embedding = rows(&|_| 4.0, 1.0);
    let is_mute = |token: &Token| speech == Speech::Letters && !is_letter(token);
    let last = rows(&|token| if is_mute(token) { -20.0 } else { 0.0 }, 0.05);
    model("noise", &vocabulary, &embedding, &last, || noise.next() * 0.1).write(path)
}

fn is_letter(token: &Token) -> bool {
    let byte = token.text.strip_prefix("<0x").and_then(|text| text.strip_suffix('>'));
    let byte = byte.and_then(|text| u8::from_str_radix(text, 16).ok());
    byte.is_some_and(|byte| byte.is_ascii_lowercase() || b" \n".contains(&byte))
}

/// Returns a transformer of one layer, whose matrices `weight` fills.
fn model(
    name: &str,
    vocabulary: &[Token],
    embedding: &[f32],
    last: &[f32],
    mut weight: impl FnMut() -> f32,
) -> Gguf {
    let mut file = Gguf::default();
    describe(&mut file, name, vocabulary);
    let ones = [1.0; WIDTH];
    file.tensor("token_embd.weight", WIDTH, embedding);
    file.tensor("output.weight", WIDTH, last);
    for name in ["output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"] {
        file.tensor(name, WIDTH, &ones);
    }
    for (name, columns, rows) in [
        ("attn_q", WIDTH, HEAD),
        ("attn_k", WIDTH, HEAD),
        ("attn_v", WIDTH, HEAD),
        ("attn_output", HEAD, WIDTH),
        ("ffn_gate", WIDTH, HIDDEN),
        ("ffn_up", WIDTH, HIDDEN),
        ("ffn_down", HIDDEN, WIDTH),
    ] {
        let values: Vec<f32> = (0..columns * rows).map(|_| weight()).collect();
        file.tensor(&format!("blk.0.{name}.weight"), columns, &values);
    }
    file
}

fn describe(file: &mut Gguf, name: &str, vocabulary: &[Token]) {
    file.text("general.architecture", "llama");
    file.text("general.name", name);
    for (name, value) in [
        ("vocab_size", vocabulary.len() as u32),
        ("context_length", CONTEXT),
        ("embedding_length", WIDTH as u32),
        ("block_count", 1),
        ("feed_forward_length", HIDDEN as u32),
        ("attention.head_count", 1),
        ("attention.key_length", HEAD as u32),
        ("attention.value_length", HEAD as u32),
        ("rope.dimension_count", HEAD as u32),
    ] {
        file.number(&format!("llama.{name}"), value);
    }
    file.fraction("llama.attention.layer_norm_rms_epsilon", 1e-5);
    file.text("tokenizer.ggml.model", "llama");
    file.texts("tokenizer.ggml.tokens", vocabulary.iter().map(|token| token.text.as_str()));
    file.fractions("tokenizer.ggml.scores", vocabulary.iter().map(|_| 0.0));
    file.integers("tokenizer.ggml.token_type", vocabulary.iter().map(|token| token.kind));
    let end = place(vocabulary, END) as u32;
    file.number("tokenizer.ggml.unknown_token_id", 0);
    file.number("tokenizer.ggml.bos_token_id", end);
    file.number("tokenizer.ggml.eos_token_id", end);
    for name in ["add_bos_token", "add_eos_token", "add_space_prefix"] {
        file.flag(&format!("tokenizer.ggml.{name}"), false);
    }
    file.text("tokenizer.chat_template", TEMPLATE);
}

/// A source of pseudo-random numbers from -1 to 1: Marsaglia's xorshift.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }
}
