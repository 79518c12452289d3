//! Token counts of all protocols, normalised so that no token is counted twice (WIRES 1.0).

use rye_thread::{Counted, Reply, Usage};
use serde::Deserialize;

/// A count as a provider writes it.
pub(crate) trait Count {
    /// Returns the count without overlap. A part that the provider left out is zero, and the count is then unreported.
    fn normalise(&self) -> (Usage, Counted);
}

/// More tokens of one kind than any request has. A larger count counts as this many, so that its cost is known
/// and exceeds what was reserved.
const MOST_TOKENS: u64 = 1 << 32;

/// Sets the usage of a reply. Without a complete count, the reply keeps what was counted and is marked as not counted.
pub(crate) fn put(reply: &mut Reply, count: Option<&impl Count>) {
    let unreported = (Usage::default(), Counted::Unreported);
    (reply.usage, reply.counted) = count.map_or(unreported, Count::normalise);
}

/// Tells whether a provider counted both.
fn count_source(input: Option<u64>, output: Option<u64>) -> Counted {
    match (input, output) {
        (Some(_), Some(_)) => Counted::ByProvider,
        _ => Counted::Unreported,
    }
}

fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
    let mut usage = Usage::new(input.min(MOST_TOKENS), output.min(MOST_TOKENS));
    usage.cache_read = cache_read.min(MOST_TOKENS);
    usage.cache_write = cache_write.min(MOST_TOKENS);
    usage
}

/// The count of Anthropic's Messages. `input_tokens` excludes cache writes and reads; `output_tokens`
/// includes reasoning.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct AnthropicCount {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl AnthropicCount {
    /// Removes the output from the count at the start of a stream, because only the count at the end includes
    /// all of it.
    pub(crate) fn of_the_beginning(self) -> Self {
        Self { output_tokens: None, ..self }
    }

    /// Replaces the members that a later count of the same stream has, because counts are cumulative.
    pub(crate) fn replaced_by(self, later: &Self) -> Self {
        Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            cache_creation_input_tokens: later
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            cache_read_input_tokens: later.cache_read_input_tokens.or(self.cache_read_input_tokens),
        }
    }
}

impl Count for AnthropicCount {
    fn normalise(&self) -> (Usage, Counted) {
        let read = self.cache_read_input_tokens.unwrap_or_default();
        let write = self.cache_creation_input_tokens.unwrap_or_default();
        let (input, output) = (self.input_tokens, self.output_tokens);
        let usage = usage(input.unwrap_or_default(), output.unwrap_or_default(), read, write);
        (usage, count_source(input, output))
    }
}

/// The count of Chat Completions. `prompt_tokens` includes cache reads and writes; the output includes
/// reasoning.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChatCount {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<OpenAiDetails>,
}

impl Count for ChatCount {
    fn normalise(&self) -> (Usage, Counted) {
        openai(self.prompt_tokens, self.completion_tokens, self.prompt_tokens_details.as_ref())
    }
}

/// The count of Responses: the same under other names.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResponsesCount {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<OpenAiDetails>,
}

impl Count for ResponsesCount {
    fn normalise(&self) -> (Usage, Counted) {
        openai(self.input_tokens, self.output_tokens, self.input_tokens_details.as_ref())
    }
}

#[derive(Clone, Debug, Deserialize)]
struct OpenAiDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

fn openai(
    input: Option<u64>,
    output: Option<u64>,
    details: Option<&OpenAiDetails>,
) -> (Usage, Counted) {
    let read = details.and_then(|details| details.cached_tokens).unwrap_or_default();
    let write = details.and_then(|details| details.cache_write_tokens).unwrap_or_default();
    let uncached = input.unwrap_or_default().saturating_sub(read.saturating_add(write));
    (usage(uncached, output.unwrap_or_default(), read, write), count_source(input, output))
}

/// The count of Gemini. `promptTokenCount` includes cache reads; thoughts and built-in tools are counted
/// separately.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GeminiCount {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

impl Count for GeminiCount {
    fn normalise(&self) -> (Usage, Counted) {
        let read = self.cached_content_token_count.unwrap_or_default();
        let tools = self.tool_use_prompt_token_count.unwrap_or_default();
        let prompt = self.prompt_token_count.unwrap_or_default().saturating_add(tools);
        let thoughts = self.thoughts_token_count.unwrap_or_default();
        let output = self.candidates_token_count.unwrap_or_default().saturating_add(thoughts);
        // Tokens that are only in the total are output that the parts left out.
        let rest = self.total_token_count.unwrap_or_default().saturating_sub(prompt);
        let output = output.max(rest);
        let usage = usage(prompt.saturating_sub(read), output, read, 0);
        // Output that is left out is none.
        (usage, count_source(self.prompt_token_count, Some(output)))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    #[test]
    fn what_cannot_be_counts_as_the_most() {
        for (output, counted) in [
            (MOST_TOKENS - 1, MOST_TOKENS - 1),
            (MOST_TOKENS, MOST_TOKENS),
            (1 << 63, MOST_TOKENS),
            (u64::MAX, MOST_TOKENS),
        ] {
            let raw = crate::raw::text_value("");
            let mut reply = Reply::new(raw, rye_thread::StopReason::EndTurn);
            let count = format!(r#"{{"prompt_tokens":1,"completion_tokens":{output}}}"#);
            put(&mut reply, Some(&serde_json::from_str::<ChatCount>(&count).unwrap()));
            assert_eq!((reply.counted, reply.usage.output), (Counted::ByProvider, counted));
        }
    }

    /// The expected counts are an error if a part is missing.
    #[track_caller]
    fn check<C: Count + DeserializeOwned>(json: &str, expected: Result<[u64; 4], [u64; 4]>) {
        let count: C = serde_json::from_str(json).unwrap();
        let (usage, counted) = count.normalise();
        let found = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let (wanted, by) = match expected {
            Ok(wanted) => (wanted, Counted::ByProvider),
            Err(wanted) => (wanted, Counted::Unreported),
        };
        assert_eq!((found, counted), (wanted, by), "{json}");
    }

    #[test]
    fn anthropic_leaves_the_cache_out_of_its_input() {
        let whole = r#"{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,
            "cache_creation":{"ephemeral_5m_input_tokens":200},"output_tokens":40000,
            "output_tokens_details":{"thinking_tokens":39000},"service_tier":"standard"}"#;
        check::<AnthropicCount>(whole, Ok([10, 40_000, 3_000, 200]));
        check::<AnthropicCount>(
            r#"{"input_tokens":1,"cache_read_input_tokens":null,"output_tokens":2}"#,
            Ok([1, 2, 0, 0]),
        );
        check::<AnthropicCount>(r#"{"output_tokens":2}"#, Err([0, 2, 0, 0]));
        check::<AnthropicCount>(
            r#"{"input_tokens":7,"cache_creation_input_tokens":8}"#,
            Err([7, 0, 0, 8]),
        );
    }

    #[test]
    fn openai_has_the_cache_in_its_input() {
        let chat = r#"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
            "prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30,"audio_tokens":0},
            "completion_tokens_details":{"reasoning_tokens":40}}"#;
        check::<ChatCount>(chat, Ok([10, 50, 60, 30]));
        let responses = r#"{"input_tokens":100,"output_tokens":50,"total_tokens":150,
            "input_tokens_details":{"cached_tokens":60,"cache_write_tokens":0},"output_tokens_details":{"reasoning_tokens":40}}"#;
        check::<ResponsesCount>(responses, Ok([40, 50, 60, 0]));
        check::<ChatCount>(
            r#"{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":null}"#,
            Ok([1, 2, 0, 0]),
        );
        check::<ChatCount>(
            r#"{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}"#,
            Ok([0, 2, 9, 0]),
        );
        check::<ChatCount>("{}", Err([0; 4]));
        check::<ChatCount>(r#"{"prompt_tokens":100000000}"#, Err([100_000_000, 0, 0, 0]));
        check::<ChatCount>(r#"{"completion_tokens":3}"#, Err([0, 3, 0, 0]));
        check::<ResponsesCount>(r#"{"prompt_tokens":1,"completion_tokens":2}"#, Err([0; 4]));
        // Some gateways count under both names.
        check::<ChatCount>(
            r#"{"prompt_tokens":1,"completion_tokens":2,"input_tokens":0,"output_tokens":0}"#,
            Ok([1, 2, 0, 0]),
        );
    }

    #[test]
    fn gemini_counts_thoughts_and_tools_apart() {
        let whole = r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":50,
            "thoughtsTokenCount":7,"toolUsePromptTokenCount":3,"totalTokenCount":160}"#;
        check::<GeminiCount>(whole, Ok([43, 57, 60, 0]));
        check::<GeminiCount>(r#"{"promptTokenCount":5,"totalTokenCount":5}"#, Ok([5, 0, 0, 0]));
        check::<GeminiCount>(r#"{"totalTokenCount":5}"#, Err([0, 5, 0, 0]));
    }

    #[test]
    fn gemini_hides_no_output_in_its_total() {
        check::<GeminiCount>(
            r#"{"promptTokenCount":100,"candidatesTokenCount":1,"totalTokenCount":4000}"#,
            Ok([100, 3_900, 0, 0]),
        );
        check::<GeminiCount>(
            r#"{"promptTokenCount":5,"toolUsePromptTokenCount":3,"totalTokenCount":10}"#,
            Ok([8, 2, 0, 0]),
        );
        check::<GeminiCount>(
            r#"{"promptTokenCount":9,"candidatesTokenCount":4,"totalTokenCount":3}"#,
            Ok([9, 4, 0, 0]),
        );
    }
}
