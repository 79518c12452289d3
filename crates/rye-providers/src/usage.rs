//! Token counts of all protocols, normalised so that no token is counted twice (WIRES 1.0).

use rye_thread::{Counted, Reply};
use rye_types::Usage;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A count as a provider writes it.
pub(crate) trait Count {
    /// Returns the count without overlap. A part that cannot be read or that the provider left out is zero, and
    /// the count is then unreported.
    fn normalise(&self) -> (Usage, Counted);
}

/// More tokens of one kind than any request has. A larger count counts as this many, so that its cost is known
/// and exceeds what was reserved.
const MOST_TOKENS: u64 = 1 << 32;

/// Sets the usage of a reply. Without a complete count, the reply keeps what was counted and is marked as not counted.
pub(crate) fn put<C: Count>(reply: &mut Reply, count: Option<&Reported<C>>) {
    let unreported = (Usage::default(), Counted::Unreported);
    let count = count.and_then(|count| count.0.as_ref());
    (reply.usage, reply.counted) = count.map_or(unreported, Count::normalise);
}

/// A value that a provider reports in some form, or `None` if it has another form than expected.
///
/// Counts decide about money, and not about whether the answer is used.
#[derive(Clone, Debug)]
pub(crate) struct Reported<T>(Option<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Reported<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        // A list would be read by position.
        let is_object = value.get().starts_with('{');
        Ok(Self(is_object.then(|| serde_json::from_str(value.get()).ok()).flatten()))
    }
}

/// A number of tokens in a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tokens {
    /// The member is missing or `null`.
    #[default]
    Missing,
    Known(u64),
    /// The member is no number of tokens.
    Unreadable,
}

impl Tokens {
    fn of(json: &str) -> Self {
        if json == "null" {
            return Self::Missing;
        }
        let whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is whole and not negative, and a larger one counts as the largest"
        )]
        let float = || json.parse().ok().filter(whole).map(|number| number as u64);
        let digits = json.parse().ok();
        digits.or_else(float).map_or(Self::Unreadable, Self::Known)
    }

    fn number(self) -> Option<u64> {
        match self {
            Self::Known(tokens) => Some(tokens),
            Self::Missing | Self::Unreadable => None,
        }
    }

    fn or_none(self) -> u64 {
        self.number().unwrap_or_default()
    }

    /// Returns this number, or the other one if this is missing.
    fn or(self, other: Self) -> Self {
        if self == Self::Missing { other } else { self }
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::of(Box::<RawValue>::deserialize(deserializer)?.get()))
    }
}

/// The parts of a count, before they are judged.
struct Parts {
    /// All of the input, with what the cache gave and took.
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: Tokens,
    total: Tokens,
    /// The number of output tokens that a detail says are reasoning.
    reasoning: Tokens,
    /// `true` if the input was counted.
    has_input: bool,
    /// `true` if a part that matters cannot be read.
    is_unreadable: bool,
}

impl Parts {
    /// Returns the usage. Tokens that are only in the total are output that the parts left out, such as reasoning.
    fn normalise(self) -> (Usage, Counted) {
        let Self { input, cache_read, cache_write, output, total, reasoning, .. } = self;
        let rest = total.number().map(|total| total.saturating_sub(input));
        // Reasoning of more tokens than the output is not part of it.
        let apart = reasoning.number().filter(|reasoning| output.or_none() < *reasoning);
        let said = output.or_none().saturating_add(apart.unwrap_or_default());
        let mut usage = Usage::new(0, said.max(rest.unwrap_or_default()).min(MOST_TOKENS));
        usage.cache_read = cache_read.min(MOST_TOKENS);
        usage.cache_write = cache_write.min(MOST_TOKENS);
        let cached = cache_read.saturating_add(cache_write);
        usage.input = input.saturating_sub(cached).min(MOST_TOKENS);
        let has_output = output.number().or(rest).is_some();
        let is_whole = self.has_input && has_output && !self.is_unreadable;
        (usage, if is_whole { Counted::ByProvider } else { Counted::Unreported })
    }
}

/// Returns `true` if one of these parts cannot be read.
fn any_unreadable(parts: &[Tokens]) -> bool {
    parts.contains(&Tokens::Unreadable)
}

/// The count of Anthropic's Messages. `input_tokens` excludes cache writes and reads; `output_tokens`
/// includes reasoning.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AnthropicCount {
    input_tokens: Tokens,
    output_tokens: Tokens,
    cache_creation_input_tokens: Tokens,
    cache_read_input_tokens: Tokens,
    /// A member of compatible servers.
    total_tokens: Tokens,
}

impl AnthropicCount {
    /// Removes the output from the count at the start of a stream, because only the count at the end includes
    /// all of it.
    fn of_the_beginning(self) -> Self {
        Self { output_tokens: Tokens::Missing, total_tokens: Tokens::Missing, ..self }
    }

    /// Replaces the members that a later count of the same stream has, because counts are cumulative.
    fn replaced_by(&self, later: &Self) -> Self {
        Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            cache_creation_input_tokens: later
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            cache_read_input_tokens: later.cache_read_input_tokens.or(self.cache_read_input_tokens),
            total_tokens: later.total_tokens.or(self.total_tokens),
        }
    }
}

impl Reported<AnthropicCount> {
    pub(crate) fn of_the_beginning(self) -> Self {
        Self(self.0.map(AnthropicCount::of_the_beginning))
    }

    /// Returns both counts of a stream as one. It cannot be read if one of them cannot.
    pub(crate) fn replaced_by(&self, later: &Self) -> Self {
        let both = self.0.as_ref().zip(later.0.as_ref());
        Self(both.map(|(old, later)| old.replaced_by(later)))
    }
}

impl Count for AnthropicCount {
    fn normalise(&self) -> (Usage, Counted) {
        let (read, write) = (self.cache_read_input_tokens, self.cache_creation_input_tokens);
        let input = self.input_tokens.or_none().saturating_add(read.or_none());
        Parts {
            input: input.saturating_add(write.or_none()),
            cache_read: read.or_none(),
            cache_write: write.or_none(),
            output: self.output_tokens,
            total: self.total_tokens,
            reasoning: Tokens::Missing,
            has_input: self.input_tokens.number().is_some(),
            is_unreadable: any_unreadable(&[read, write, self.output_tokens, self.total_tokens]),
        }
        .normalise()
    }
}

/// The count of Chat Completions. `prompt_tokens` includes cache reads and writes. The output includes
/// reasoning, but some compatible servers have it only in the total.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChatCount {
    #[serde(default)]
    prompt_tokens: Tokens,
    #[serde(default)]
    completion_tokens: Tokens,
    #[serde(default)]
    total_tokens: Tokens,
    prompt_tokens_details: Option<Reported<InputDetails>>,
    completion_tokens_details: Option<Reported<OutputDetails>>,
}

impl Count for ChatCount {
    fn normalise(&self) -> (Usage, Counted) {
        let details = (&self.prompt_tokens_details, &self.completion_tokens_details);
        openai(self.prompt_tokens, self.completion_tokens, self.total_tokens, details)
    }
}

/// The count of Responses: the same under other names.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResponsesCount {
    #[serde(default)]
    input_tokens: Tokens,
    #[serde(default)]
    output_tokens: Tokens,
    #[serde(default)]
    total_tokens: Tokens,
    input_tokens_details: Option<Reported<InputDetails>>,
    output_tokens_details: Option<Reported<OutputDetails>>,
}

impl Count for ResponsesCount {
    fn normalise(&self) -> (Usage, Counted) {
        let details = (&self.input_tokens_details, &self.output_tokens_details);
        openai(self.input_tokens, self.output_tokens, self.total_tokens, details)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Tokens,
    cache_write_tokens: Tokens,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Tokens,
}

fn openai(
    input: Tokens,
    output: Tokens,
    total: Tokens,
    (details, reasoning): (&Option<Reported<InputDetails>>, &Option<Reported<OutputDetails>>),
) -> (Usage, Counted) {
    let is_strange = matches!(details, Some(Reported(None)));
    let is_strange = is_strange || matches!(reasoning, Some(Reported(None)));
    let details = details.as_ref().and_then(|details| details.0.clone()).unwrap_or_default();
    let reasoning = reasoning.as_ref().and_then(|details| details.0.clone()).unwrap_or_default();
    let reasoning = reasoning.reasoning_tokens;
    let InputDetails { cached_tokens: read, cache_write_tokens: write } = details;
    Parts {
        input: input.or_none(),
        cache_read: read.or_none(),
        cache_write: write.or_none(),
        output,
        total,
        reasoning,
        has_input: input.number().is_some(),
        is_unreadable: is_strange || any_unreadable(&[output, total, read, write, reasoning]),
    }
    .normalise()
}

/// The count of Gemini. `promptTokenCount` includes cache reads; thoughts and built-in tools are counted
/// separately. Output that is left out is none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GeminiCount {
    prompt_token_count: Tokens,
    cached_content_token_count: Tokens,
    candidates_token_count: Tokens,
    thoughts_token_count: Tokens,
    tool_use_prompt_token_count: Tokens,
    total_token_count: Tokens,
}

impl Count for GeminiCount {
    fn normalise(&self) -> (Usage, Counted) {
        let (read, total) = (self.cached_content_token_count, self.total_token_count);
        let (tools, thoughts) = (self.tool_use_prompt_token_count, self.thoughts_token_count);
        let candidates = self.candidates_token_count;
        let output = candidates.or_none().saturating_add(thoughts.or_none());
        Parts {
            input: self.prompt_token_count.or_none().saturating_add(tools.or_none()),
            cache_read: read.or_none(),
            cache_write: 0,
            output: Tokens::Known(output),
            total,
            reasoning: Tokens::Missing,
            has_input: self.prompt_token_count.number().is_some(),
            is_unreadable: any_unreadable(&[read, total, tools, thoughts, candidates]),
        }
        .normalise()
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
            put::<ChatCount>(&mut reply, Some(&serde_json::from_str(&count).unwrap()));
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
            r#"{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":"9"}"#,
            Err([1, 2, 0, 0]),
        );
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

    /// The reasoning of some servers is in none of the parts.
    #[test]
    fn no_wire_hides_output_in_its_total() {
        check::<ChatCount>(
            r#"{"prompt_tokens":32,"completion_tokens":9,"total_tokens":2850,
                "completion_tokens_details":{"reasoning_tokens":2809}}"#,
            Ok([32, 2_818, 0, 0]),
        );
        check::<ChatCount>(
            r#"{"prompt_tokens":32,"completion_tokens":9,
                "completion_tokens_details":{"reasoning_tokens":2809}}"#,
            Ok([32, 2_818, 0, 0]),
        );
        check::<ChatCount>(
            r#"{"prompt_tokens":100,"total_tokens":160,"prompt_tokens_details":{"cached_tokens":60}}"#,
            Ok([40, 60, 60, 0]),
        );
        check::<ChatCount>(
            r#"{"prompt_tokens":9,"completion_tokens":4,"total_tokens":3}"#,
            Ok([9, 4, 0, 0]),
        );
        check::<ChatCount>(r#"{"total_tokens":5}"#, Err([0, 5, 0, 0]));
        check::<ResponsesCount>(
            r#"{"input_tokens":32,"output_tokens":9,"total_tokens":2850}"#,
            Ok([32, 2_818, 0, 0]),
        );
        check::<AnthropicCount>(
            r#"{"input_tokens":2,"cache_read_input_tokens":30,"output_tokens":9,"total_tokens":2850}"#,
            Ok([2, 2_818, 30, 0]),
        );
    }

    #[test]
    fn a_whole_float_is_a_number_and_nothing_else_is() {
        for (json, tokens) in [
            ("10", Tokens::Known(10)),
            ("10.0", Tokens::Known(10)),
            ("1e1", Tokens::Known(10)),
            ("-0.0", Tokens::Known(0)),
            ("1e300", Tokens::Known(u64::MAX)),
            ("18446744073709551616", Tokens::Known(u64::MAX)),
            ("null", Tokens::Missing),
            ("10.5", Tokens::Unreadable),
            ("-35", Tokens::Unreadable),
            ("\"10\"", Tokens::Unreadable),
            ("\"\"", Tokens::Unreadable),
            ("[]", Tokens::Unreadable),
            ("{}", Tokens::Unreadable),
            ("true", Tokens::Unreadable),
        ] {
            assert_eq!(Tokens::of(json), tokens, "{json}");
        }
    }

    #[test]
    fn what_is_no_count_was_not_counted() {
        for strange in ["-35", "\"10\"", "[]", "\"\"", "0.5"] {
            let count = format!(r#"{{"prompt_tokens":5,"completion_tokens":{strange}}}"#);
            check::<ChatCount>(&count, Err([5, 0, 0, 0]));
            let count = format!(r#"{{"input_tokens":{strange},"output_tokens":5}}"#);
            check::<ResponsesCount>(&count, Err([0, 5, 0, 0]));
            check::<AnthropicCount>(&count, Err([0, 5, 0, 0]));
            let count = format!(r#"{{"promptTokenCount":5,"candidatesTokenCount":{strange}}}"#);
            check::<GeminiCount>(&count, Err([5, 0, 0, 0]));
            let details = format!(
                r#"{{"prompt_tokens":5,"completion_tokens":5,"prompt_tokens_details":{strange}}}"#
            );
            check::<ChatCount>(&details, Err([5, 5, 0, 0]));
            let whole = serde_json::from_str::<Reported<ChatCount>>(strange).unwrap();
            assert!(whole.0.is_none(), "{strange}");
        }
        check::<ChatCount>(
            r#"{"prompt_tokens":5,"completion_tokens":5,"completion_tokens_details":0}"#,
            Err([5, 5, 0, 0]),
        );
    }

    proptest::proptest! {
        /// The usage never has fewer tokens than any number of the count says.
        #[test]
        fn the_usage_is_never_below_what_the_count_says(
            input in 0_u64..1_000, output in 0_u64..1_000, total in 0_u64..4_000,
            read in 0_u64..500, write in 0_u64..500, reasoning in 0_u64..2_000,
        ) {
            let details = format!(r#"{{"cached_tokens":{read},"cache_write_tokens":{write}}}"#);
            let chat = format!(
                r#"{{"prompt_tokens":{input},"completion_tokens":{output},"total_tokens":{total},
                    "prompt_tokens_details":{details},"completion_tokens_details":{{"reasoning_tokens":{reasoning}}}}}"#
            );
            let (chat, _) = serde_json::from_str::<ChatCount>(&chat).unwrap().normalise();
            let gemini = format!(
                r#"{{"promptTokenCount":{input},"candidatesTokenCount":{output},"totalTokenCount":{total},
                    "cachedContentTokenCount":{read},"thoughtsTokenCount":{reasoning}}}"#
            );
            let (gemini, _) = serde_json::from_str::<GeminiCount>(&gemini).unwrap().normalise();
            let anthropic = format!(
                r#"{{"input_tokens":{input},"output_tokens":{output},"total_tokens":{total},
                    "cache_read_input_tokens":{read},"cache_creation_input_tokens":{write}}}"#
            );
            let (anthropic, _) = serde_json::from_str::<AnthropicCount>(&anthropic).unwrap().normalise();
            for usage in [chat, gemini] {
                proptest::prop_assert!(usage.output >= output.max(reasoning), "{:?}", usage);
                proptest::prop_assert!(usage.input + usage.cache_read + usage.cache_write >= input);
            }
            proptest::prop_assert_eq!(anthropic.input, input);
            for usage in [chat, gemini, anthropic] {
                proptest::prop_assert!(usage.output >= output && usage.cache_read == read);
                proptest::prop_assert!(usage.total() >= total, "{:?} of {}", usage, total);
            }
        }
    }
}
