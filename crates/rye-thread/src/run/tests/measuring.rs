//! Bounds on the next request.

use super::*;

#[test]
fn the_input_bound_counts_bytes_until_a_provider_counted() {
    let mut run = run(OutputContract::default());
    let first = run.input_bound();
    assert!(2_048 < first, "{first}");
    exchange(&mut run, calls(vec![tool("1")]));
    run.tools_returned(vec![ok("1")]).unwrap();
    let second = run.input_bound();
    assert!(100 < second && second < first, "{second}");
    let Step::CallModel(request) = run.step(START) else { panic!("not asked") };
    let added: usize = request
        .messages
        .iter()
        .skip(1)
        .map(|message| match message {
            Message::Assistant { reply } => reply.raw().get().len(),
            Message::ToolResults { results } => {
                results.iter().map(|result| result.content.to_string().len()).sum()
            }
            Message::User { text } => text.len(),
            other => panic!("{other:?}"),
        })
        .sum();
    assert!(100 + u64::try_from(added).unwrap() <= second);
}

/// A server without token counts: the worst case bounds the cost of its replies, and says nothing of the context
/// window.
#[test]
fn what_nobody_counted_measures_nothing() {
    let uncounted = |name: &str| {
        let mut reply = calls(vec![tool(name)]);
        (reply.usage, reply.counted) = (Usage::new(2_600, 500), Counted::Unreported);
        reply
    };
    let mut run = run(OutputContract::default());
    for (name, most) in [("1", 700), ("2", 800), ("3", 900)] {
        exchange(&mut run, uncounted(name));
        run.tools_returned(vec![ok(name)]).unwrap();
        assert!(run.context_estimate() < most, "{name}: {}", run.context_estimate());
    }
    exchange(&mut run, calls(vec![tool("4")]));
    run.tools_returned(vec![ok("4")]).unwrap();
    let counted = run.context_estimate();
    assert!((110..200).contains(&counted), "a count is one: {counted}");
}
