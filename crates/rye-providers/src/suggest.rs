//! The ends of messages: what was probably meant, and what there is.

/// The known word that was probably meant, as the end of a message: `; did you mean `x`?`, or nothing.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let scored = known.into_iter().map(|known| (strsim::damerau_levenshtein(word, known), known));
    match scored.min() {
        Some((distance, known)) if distance <= known.len().div_ceil(3) => {
            format!("; did you mean `{known}`?")
        }
        _ => String::new(),
    }
}

/// Words in backticks, with commas.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
