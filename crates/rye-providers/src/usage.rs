//! Every protocol's count of tokens as ours, in which nothing is counted twice (WIRES 1.0).

use rye_thread::{Counted, Reply, Usage};
use serde::Deserialize;

/// A count as a provider writes it.
pub(crate) trait Count {
    /// The same count without overlap; `None` where it says nothing.
    fn normalised(&self) -> Option<Usage>;
}

/// Puts a count into a reply, or the lack of one.
pub(crate) fn put(reply: &mut Reply, count: Option<&impl Count>) {
    match count.and_then(Count::normalised) {
        Some(usage) => reply.usage = usage,
        None => reply.counted = Counted::ByNobody,
    }
}

fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
    let mut usage = Usage::new(input, output);
    usage.cache_read = cache_read;
    usage.cache_write = cache_write;
    usage
}

/// `input_tokens` leaves out what the cache wrote and read; `output_tokens` holds the reasoning.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct AnthropicCount {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl AnthropicCount {
    /// A later count of the same stream, which replaces what it names: counts are cumulative.
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
    fn normalised(&self) -> Option<Usage> {
        let read = self.cache_read_input_tokens.unwrap_or_default();
        let write = self.cache_creation_input_tokens.unwrap_or_default();
        Some(usage(self.input_tokens?, self.output_tokens?, read, write))
    }
}

/// Chat Completions': `prompt_tokens` hold what the cache read and wrote, the output holds the reasoning.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChatCount {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<OpenAiDetails>,
}

impl Count for ChatCount {
    fn normalised(&self) -> Option<Usage> {
        openai(self.prompt_tokens, self.completion_tokens, self.prompt_tokens_details.as_ref())
    }
}

/// Responses': the same under other names.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResponsesCount {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<OpenAiDetails>,
}

impl Count for ResponsesCount {
    fn normalised(&self) -> Option<Usage> {
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

/// `promptTokenCount` holds what the cache read; thoughts and the results of built-in tools are counted apart.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GeminiCount {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
}

impl Count for GeminiCount {
    fn normalised(&self) -> Option<Usage> {
        let read = self.cached_content_token_count.unwrap_or_default();
        let tools = self.tool_use_prompt_token_count.unwrap_or_default();
        let input = self.prompt_token_count?.saturating_add(tools).saturating_sub(read);
        let thoughts = self.thoughts_token_count.unwrap_or_default();
        let output = self.candidates_token_count.unwrap_or_default().saturating_add(thoughts);
        Some(usage(input, output, read, 0))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    #[track_caller]
    fn check<C: Count + DeserializeOwned>(json: &str, expected: Option<[u64; 4]>) {
        let count: C = serde_json::from_str(json).unwrap();
        let found = count.normalised();
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
}
