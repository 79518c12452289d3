//! Token counts of all protocols, normalised so that no token is counted twice (WIRES 1.0).

use rye_thread::{Counted, Reply, Usage};
use serde::Deserialize;

/// A count as a provider writes it.
pub(crate) trait Count {
    /// Returns the count without overlap, or `None` if it is incomplete.
    fn normalise(&self) -> Option<Usage>;
}

/// More tokens of one kind than any request has. A larger count counts as this many, so that its cost is known
/// and exceeds what was reserved.
const MOST_TOKENS: u64 = 1 << 32;

/// Sets the usage of a reply, or marks the reply as not counted.
pub(crate) fn put(reply: &mut Reply, count: Option<&impl Count>) {
    match count.and_then(Count::normalise) {
        Some(usage) => reply.usage = usage,
        None => reply.counted = Counted::Unreported,
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
    fn normalise(&self) -> Option<Usage> {
        let read = self.cache_read_input_tokens.unwrap_or_default();
        let write = self.cache_creation_input_tokens.unwrap_or_default();
        Some(usage(self.input_tokens?, self.output_tokens?, read, write))
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
    fn normalise(&self) -> Option<Usage> {
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
    fn normalise(&self) -> Option<Usage> {
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
) -> Option<Usage> {
    let read = details.and_then(|details| details.cached_tokens).unwrap_or_default();
    let write = details.and_then(|details| details.cache_write_tokens).unwrap_or_default();
    let uncached = input?.saturating_sub(read.saturating_add(write));
    Some(usage(uncached, output?, read, write))
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
    fn normalise(&self) -> Option<Usage> {
        let read = self.cached_content_token_count.unwrap_or_default();
        let tools = self.tool_use_prompt_token_count.unwrap_or_default();
        let prompt = self.prompt_token_count?.saturating_add(tools);
        let thoughts = self.thoughts_token_count.unwrap_or_default();
        let output = self.candidates_token_count.unwrap_or_default().saturating_add(thoughts);
        // Tokens that are only in the total are output that the parts left out.
        let rest = self.total_token_count.unwrap_or_default().saturating_sub(prompt);
        Some(usage(prompt.saturating_sub(read), output.max(rest), read, 0))
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

    #[track_caller]
    fn check<C: Count + DeserializeOwned>(json: &str, expected: Option<[u64; 4]>) {
        let count: C = serde_json::from_str(json).unwrap();
        let found = count.normalise();
        let found =
            found.map(|usage| [usage.input, usage.output, usage.cache_read, usage.cache_write]);
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn anthropic_leaves_the_cache_out_of_its_input() {
        let whole = r#"{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,
            "cache_creation":{"ephemeral_5m_input_tokens":200},"output_tokens":40000,
            "output_tokens_details":{"thinking_tokens":39000},"service_tier":"standard"}"#;
        check::<AnthropicCount>(whole, Some([10, 40_000, 3_000, 200]));
        check::<AnthropicCount>(
            r#"{"input_tokens":1,"cache_read_input_tokens":null,"output_tokens":2}"#,
            Some([1, 2, 0, 0]),
        );
        check::<AnthropicCount>(r#"{"output_tokens":2}"#, None);
    }

    #[test]
    fn openai_has_the_cache_in_its_input() {
        let chat = r#"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
            "prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30,"audio_tokens":0},
            "completion_tokens_details":{"reasoning_tokens":40}}"#;
        check::<ChatCount>(chat, Some([10, 50, 60, 30]));
        let responses = r#"{"input_tokens":100,"output_tokens":50,"total_tokens":150,
            "input_tokens_details":{"cached_tokens":60,"cache_write_tokens":0},"output_tokens_details":{"reasoning_tokens":40}}"#;
        check::<ResponsesCount>(responses, Some([40, 50, 60, 0]));
        check::<ChatCount>(
            r#"{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":null}"#,
            Some([1, 2, 0, 0]),
        );
        check::<ChatCount>(
            r#"{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}"#,
            Some([0, 2, 9, 0]),
        );
        check::<ChatCount>("{}", None);
        check::<ResponsesCount>(r#"{"prompt_tokens":1,"completion_tokens":2}"#, None);
        // Some gateways count under both names.
        check::<ChatCount>(
            r#"{"prompt_tokens":1,"completion_tokens":2,"input_tokens":0,"output_tokens":0}"#,
            Some([1, 2, 0, 0]),
        );
    }

    #[test]
    fn gemini_counts_thoughts_and_tools_apart() {
        let whole = r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":50,
            "thoughtsTokenCount":7,"toolUsePromptTokenCount":3,"totalTokenCount":160}"#;
        check::<GeminiCount>(whole, Some([43, 57, 60, 0]));
        check::<GeminiCount>(r#"{"promptTokenCount":5,"totalTokenCount":5}"#, Some([5, 0, 0, 0]));
        check::<GeminiCount>(r#"{"totalTokenCount":5}"#, None);
    }

    #[test]
    fn gemini_hides_no_output_in_its_total() {
        check::<GeminiCount>(
            r#"{"promptTokenCount":100,"candidatesTokenCount":1,"totalTokenCount":4000}"#,
            Some([100, 3_900, 0, 0]),
        );
        check::<GeminiCount>(
            r#"{"promptTokenCount":5,"toolUsePromptTokenCount":3,"totalTokenCount":10}"#,
            Some([8, 2, 0, 0]),
        );
        check::<GeminiCount>(
            r#"{"promptTokenCount":9,"candidatesTokenCount":4,"totalTokenCount":3}"#,
            Some([9, 4, 0, 0]),
        );
    }
}
